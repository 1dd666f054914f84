package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// What a process sees of the KV: requests that may get lost on either way, and a watch that delivers every
// change in order, or a snapshot when it was dropped.

// request is what a process asks of the KV or the lake.
type request struct {
	kind    string // kv or lake
	what    string // which step of the protocol it is
	timeout time.Duration
	op      *operation // in the history of the KV; nil: it is no request to the KV
}

// ask makes a request to the KV or the lake, with its answer. The request and its answer are separate
// messages, and either may be lost: then the process is told the silence after a while.
func (w *world) ask(p *process, q request, do func() core.Event, silence core.Event) {
	life := p.life
	there, back := w.faults.stall(q.what, p.name)
	lost, done := w.faults.lose(q.kind, p.name)
	if q.kind == "kv" && (p.noKV || w.kvDown) {
		lost, done = true, false
	} else if q.kind == "kv" && p.noAnswers {
		lost, done = true, true
	}
	tell := func(ev core.Event) {
		if p.life == life {
			w.history.answered(q.op, ev)
			w.deliver(p, ev)
		}
	}
	if lost && !done {
		w.history.lost(q.op)
		w.after(q.timeout+w.faults.delay(q.kind, p.name), func() { tell(silence) })
		return
	}
	w.after(there+w.faults.delay(q.kind, p.name), func() {
		if q.kind == "kv" && w.kvDown { // it went away before the request came
			w.history.lost(q.op)
			w.after(q.timeout, func() { tell(silence) })
			return
		}
		answer := do()
		if lost {
			w.cover.rare("a " + q.kind + " request took effect and its answer got lost")
			if c, ok := answer.(core.Committed); ok && c.Outcome == core.Applied && w.applied == "release" {
				w.cover.rare("a Release was applied and its answer got lost")
			}
			w.after(q.timeout, func() { tell(silence) })
			return
		}
		w.after(back+w.faults.delay(q.kind, p.name), func() { tell(answer) })
	})
}

// askKV makes a KV request, which is part of the KV's history: from its call to its answer, or for ever if
// there is none.
func (w *world) askKV(p *process, e core.Effect) {
	op, id := w.history.begin(p.id, e), p.id
	switch e := e.(type) {
	case core.Commit:
		if err := Check(e.Txn); err != nil {
			panic(err)
		}
		w.ask(p, request{"kv", e.Txn.Name, kvTimeout, op}, func() core.Event {
			outcome := core.NotApplied
			if (!leased(e.Txn) || p.id == id && p.machine != nil) && w.kv.Apply(e.Txn, id) {
				outcome = core.Applied
				w.cover.transaction(e.Txn.Name)
				w.changed()
			}
			w.noticed(p, e, outcome)
			reply := core.Committed{Effect: e.ID, Outcome: outcome, Revision: w.kv.rev}
			w.history.replied(op, reply)
			return reply
		}, w.unanswered(e))
	case core.Read:
		w.ask(p, request{"kv", "read", kvTimeout, op}, func() core.Event {
			reply := core.ReadDone{Effect: e.ID, OK: true, Revision: w.kv.rev, Records: w.kv.Read(e.Ranges...)}
			w.history.replied(op, reply)
			return reply
		}, core.ReadDone{Effect: e.ID})
	}
}

// unanswered is what a process is told of a transaction that the KV did not answer.
func (w *world) unanswered(e core.Commit) core.Committed {
	c := core.Committed{Effect: e.ID}
	if out(unknownIsApplied) {
		c.Outcome = core.Applied
	}
	return c
}

// leased reports whether a transaction needs its writer's lease, which is gone when the writer is.
func leased(t core.Txn) bool {
	for _, op := range t.Then {
		if op.Leased {
			return true
		}
	}
	return false
}

// changed sends every process the changes of the KV that it has not seen yet.
func (w *world) changed() {
	for _, p := range w.procs {
		w.watch(p)
	}
}

func (w *world) watch(p *process) {
	if p.machine == nil || p.noKV || p.noAnswers {
		return
	}
	life := p.life
	p.told = max(p.told, w.now.Add(w.faults.delay("watch", p.name))) // in order: a slow one keeps the next
	w.queue.push(p.told, func() {
		if p.life != life || p.noKV || p.noAnswers || w.kvDown || p.seen == nothing {
			return
		}
		changes, ok := w.kv.since(p.seen)
		if !ok {
			w.cover.rare("a watch starts from a snapshot, since its past was compacted")
			w.reset(p)
			return
		}
		// One event for each change, in order: a later one never overtakes.
		for _, ch := range changes {
			if p.life != life || p.machine == nil || ch.rev <= p.seen {
				continue
			}
			p.seen = ch.rev
			w.history.shown(ch)
			w.deliver(p, core.Changed{Revision: ch.rev, Puts: ch.puts, Deletes: ch.deletes})
		}
	})
}

// reset tells a process everything.
func (w *world) reset(p *process) {
	p.seen = w.kv.rev
	w.deliver(p, core.Changed{Revision: w.kv.rev, Reset: true, Puts: w.kv.Read(core.Everything())})
}

func (w *world) snapshot(p *process) {
	life := p.life
	w.after(w.faults.delay("watch", p.name), func() {
		switch {
		case p.life != life:
		case p.noKV || p.noAnswers || w.kvDown:
			w.after(time.Second, func() {
				if p.life == life {
					w.snapshot(p)
				}
			})
		default:
			w.reset(p)
		}
	})
}
