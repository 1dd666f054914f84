package core_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// perform carries out one effect of a process, as the driver would.
func (w *world) perform(p *process, e core.Effect) {
	switch e := e.(type) {
	case core.Commit:
		if e.Txn.Name == p.holding {
			p.held = append(p.held, func() { w.perform(p, e) })
			return
		}
		id := p.id
		w.ask(p, "kv", kvTimeout, func() core.Event {
			outcome := core.NotApplied
			if (!leased(e.Txn) || p.id == id && p.machine != nil) && w.kv.apply(e.Txn, id) {
				outcome = core.Applied
				w.changed()
			}
			return core.Committed{Effect: e.ID, Outcome: outcome, Revision: w.kv.rev}
		}, core.Committed{Effect: e.ID})
	case core.Read:
		w.ask(p, "kv", kvTimeout, func() core.Event {
			return core.ReadDone{Effect: e.ID, OK: true, Revision: w.kv.rev, Records: w.kv.read(e.Ranges...)}
		}, core.ReadDone{Effect: e.ID})
	case core.Survey:
		w.ask(p, "lake", 0, func() core.Event {
			t, numbers, f := w.lake.survey(e.Target)
			return core.Surveyed{Effect: e.ID, Table: t, Numbers: numbers, Failure: f}
		}, core.Surveyed{Effect: e.ID, Failure: core.Failure{Code: core.CodeStorage, Detail: "no answer from the lake"}})
	case core.PutFence:
		w.ask(p, "lake", 0, func() core.Event {
			w.checks.fencing(e)
			outcome, f := w.lake.fence(e)
			if outcome == core.Applied {
				w.checks.all()
			}
			return core.FenceDone{Effect: e.ID, Outcome: outcome, Failure: f}
		}, core.FenceDone{Effect: e.ID, Failure: core.Failure{Code: core.CodeStorage, Detail: "no answer from the lake"}})
	case core.PutNumber:
		w.ask(p, "lake", 0, func() core.Event {
			taken, f := w.lake.number(e.Target, core.Number{N: e.Number, Execution: e.Execution})
			return core.NumberDone{Effect: e.ID, Taken: taken, Failure: f}
		}, core.NumberDone{Effect: e.ID, Failure: core.Failure{Code: core.CodeStorage, Detail: "no answer from the lake"}})
	case core.SendStart:
		w.call(p, e.Address, e.ID, core.StartRequested{Request: w.newRequest(), Execution: e.Execution})
	case core.SendCancel:
		w.call(p, e.Address, e.ID, core.CancelRequested{Request: w.newRequest(), Target: e.Target, Execution: e.Execution, Why: e.Why})
	case core.SendProbe:
		w.call(p, e.Address, e.ID, core.StatusRequested{Request: w.newRequest(), Target: e.Target, Execution: e.Execution})
	case core.AnswerStart:
		w.replied(e.Request, core.Replied{OK: true, Refused: e.Refused})
	case core.AnswerStatus:
		w.replied(e.Request, core.Replied{OK: true, Status: e.Status})
	case core.StartEngine:
		w.startEngine(p, e)
	case core.LetGo:
		w.letGo(p, e)
	case core.StopEngine:
		w.stopEngine(p, e)
	case core.AnswerCommit:
		w.gateAnswered(p, e)
	case core.AnswerMerge:
		w.say(p.name, "%s", e)
	case core.Note:
		w.say(p.name, "%s", e)
	default:
		panic(fmt.Sprintf("no driver for %T", e))
	}
}

// leased reports whether a transaction needs its writer's lease, which is gone when the writer is.
func leased(t core.Txn) bool {
	return slices.ContainsFunc(t.Then, func(op core.Op) bool { return op.Leased })
}

// ask makes a request to the KV or the lake, with its answer. The request and its answer are separate
// messages, and either may be lost: then the process is told the silence after a while.
func (w *world) ask(p *process, kind string, timeout time.Duration, do func() core.Event, silence core.Event) {
	life := p.life
	lost, done := w.faults.lose(kind)
	away := kind == "kv" && (p.noKV || w.kvDown)
	if away {
		lost, done = true, false
	}
	if lost && !done {
		w.after(timeout+w.faults.delay(kind), func() {
			if p.life == life {
				w.deliver(p, silence)
			}
		})
		return
	}
	w.after(w.faults.delay(kind), func() {
		answer := do()
		if lost {
			answer = silence
			w.after(timeout, func() {
				if p.life == life {
					w.deliver(p, answer)
				}
			})
			return
		}
		if p.life == life { // a process never hears the answers of its life before
			w.tell(p, kind, answer)
		}
	})
}

func (w *world) newRequest() core.RequestID {
	w.request++
	return w.request
}

func requestOf(ev core.Event) core.RequestID {
	switch ev := ev.(type) {
	case core.StartRequested:
		return ev.Request
	case core.CancelRequested:
		return ev.Request
	case core.StatusRequested:
		return ev.Request
	}
	panic(fmt.Sprintf("%T is no request", ev))
}

// call makes an RPC to the process at an address. After the time-out its answer counts no more.
func (w *world) call(p *process, address string, id core.EffectID, ev core.Event) {
	life, request := p.life, requestOf(ev)
	w.rpcs[request] = func(r core.Replied) {
		r.Effect = id
		if p.life == life {
			w.deliver(p, r)
		}
	}
	w.after(rpcTimeout, func() { w.finishCall(request, core.Replied{}) })
	to := w.process(address)
	lost, done := w.faults.lose("rpc")
	if p.noRPC || to == nil || to.noRPC || lost && !done {
		return
	}
	w.deaf[request] = lost
	w.after(w.faults.delay("rpc"), func() { w.deliver(to, ev) })
}

func (w *world) replied(request core.RequestID, r core.Replied) {
	if !w.deaf[request] {
		w.after(w.faults.delay("rpc"), func() { w.finishCall(request, r) })
	}
}

func (w *world) finishCall(request core.RequestID, r core.Replied) {
	if answer := w.rpcs[request]; answer != nil {
		delete(w.rpcs, request)
		answer(r)
	}
}
