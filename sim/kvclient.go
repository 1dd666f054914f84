package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// What a process sees of the KV: requests that may get lost on either way, and a watch that delivers every
// change in order, or a snapshot when it was dropped.

// ask makes a request to the KV or the lake, with its answer. The request and its answer are separate
// messages, and either may be lost: then the process is told the silence after a while.
func (w *world) ask(p *process, kind string, timeout time.Duration, do func() core.Event, silence core.Event) {
	life := p.life
	lost, done := w.faults.lose(kind, p.name)
	if kind == "kv" && (p.noKV || w.kvDown) {
		lost, done = true, false
	} else if kind == "kv" && p.noAnswers {
		lost, done = true, true
	}
	tell := func(ev core.Event) {
		if p.life == life {
			w.deliver(p, ev)
		}
	}
	if lost && !done {
		w.after(timeout+w.faults.delay(kind, p.name), func() { tell(silence) })
		return
	}
	w.after(w.faults.delay(kind, p.name), func() {
		if kind == "kv" && w.kvDown { // it went away before the request came
			w.after(timeout, func() { tell(silence) })
			return
		}
		answer := do()
		if lost {
			w.cover.rare("a " + kind + " request took effect and its answer got lost")
			if c, ok := answer.(core.Committed); ok && c.Outcome == core.Applied && w.applied == "release" {
				w.cover.rare("a Release was applied and its answer got lost")
			}
			w.after(timeout, func() { tell(silence) })
			return
		}
		w.after(w.faults.delay(kind, p.name), func() {
			if p.life == life {
				w.history.answered(p, answer, w.now)
				w.deliver(p, answer)
			}
		})
	})
}

// askKV makes a KV request, which is part of the KV's history: from its call to its answer, or for ever if
// there is none.
func (w *world) askKV(p *process, e core.Effect) {
	w.history.begin(p, e, w)
	id := p.id
	switch e := e.(type) {
	case core.Commit:
		if err := Check(e.Txn); err != nil {
			panic(err)
		}
		w.ask(p, "kv", kvTimeout, func() core.Event {
			outcome := core.NotApplied
			if (!leased(e.Txn) || p.id == id && p.machine != nil) && w.kv.Apply(e.Txn, id) {
				outcome = core.Applied
				w.cover.transaction(e.Txn.Name)
				w.changed()
			}
			w.noticed(p, e, outcome)
			answer := core.Committed{Effect: e.ID, Outcome: outcome, Revision: w.kv.rev}
			w.history.took(e, id, answer)
			return answer
		}, w.unanswered(e))
	case core.Read:
		w.ask(p, "kv", kvTimeout, func() core.Event {
			answer := core.ReadDone{Effect: e.ID, OK: true, Revision: w.kv.rev, Records: w.kv.Read(e.Ranges...)}
			w.history.took(e, id, answer)
			return answer
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
		if p.life != life || p.noKV || p.noAnswers || w.kvDown {
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
			w.history.told(ch)
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
