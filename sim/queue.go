package sim

import "github.com/sluice-data/sluice/core"

// queue holds what is going to happen, by time and then in the order in which it was asked for.
type queue struct {
	heap []message
	seq  int
}

type message struct {
	at  core.MonoTime
	seq int
	run func()
}

func (m message) before(o message) bool { return m.at < o.at || m.at == o.at && m.seq < o.seq }

func (q *queue) push(at core.MonoTime, run func()) {
	q.seq++
	q.heap = append(q.heap, message{at, q.seq, run})
	h := q.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *queue) len() int { return len(q.heap) }

// next is when the first message is due.
func (q *queue) next() (core.MonoTime, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// pop takes the first message out.
func (q *queue) pop() func() {
	h := q.heap
	first := h[0]
	last := len(h) - 1
	h[0], h[last] = h[last], message{}
	h = h[:last]
	for i := 0; ; {
		least := i
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < last && h[c].before(h[least]) {
				least = c
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	q.heap = h
	return first.run
}
