package driver

import (
	"context"
	"sync"

	"github.com/sluice-data/sluice/core"
)

// asks are the requests from outside that a machine has not answered yet.
type asks struct {
	mu      sync.Mutex
	last    core.RequestID
	waiting map[core.RequestID]chan core.Effect
	closed  bool
}

func newAsks() *asks { return &asks{waiting: map[core.RequestID]chan core.Effect{}} }

// open begins a request.
func (a *asks) open() (core.RequestID, chan core.Effect) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	answer := make(chan core.Effect, 1)
	if a.closed {
		close(answer)
	} else {
		a.waiting[a.last] = answer
	}
	return a.last, answer
}

// answer hands an answer to whoever waits for it, and reports whether somebody does.
func (a *asks) answer(r core.RequestID, e core.Effect) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok := a.waiting[r]
	if ok {
		delete(a.waiting, r)
		answer <- e
	}
	return ok
}

// giveUp ends a request whose sender has gone, and reports whether it had no answer yet.
func (a *asks) giveUp(r core.RequestID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.waiting[r]
	delete(a.waiting, r)
	return ok
}

// close ends all requests, and those to come, without an answer.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for r, answer := range a.waiting {
		delete(a.waiting, r)
		close(answer)
	}
}

// ask tells the machine a request and waits for its answer.
func ask[A core.Effect](ctx context.Context, l *loop, a *asks, request func(core.RequestID) core.Event) (A, error) {
	r, answer := a.open()
	l.tell(request(r))
	var none A
	select {
	case e, ok := <-answer:
		if !ok {
			return none, errClosed
		}
		return e.(A), nil
	case <-ctx.Done():
		a.giveUp(r)
		return none, ctx.Err()
	}
}
