package driver

import (
	"context"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/core"
)

// The worker as the gate's authority: every commit of an execution is asked of the machine.

// Admit implements [gate.Authority].
func (w *Worker) Admit(ctx context.Context, in core.CommitIntent) core.Verdict {
	r, answer := w.asks.open()
	w.loop.tell(core.CommitRequested{Request: r, Intent: in})
	select {
	case e, ok := <-answer:
		if !ok {
			return core.Verdict{Status: 503, Rule: core.RuleNotRunning, Detail: "this worker is stopping"}
		}
		verdict := e.(core.AnswerCommit).Verdict
		if verdict.OK() {
			w.remember(in, r)
		}
		return verdict
	case <-ctx.Done():
		w.asks.giveUp(r)
		// NB: its verdict may be on its way; the machine takes it back, since nothing is put.
		w.loop.tell(core.CommitDropped{Request: r, Target: in.Target})
		return core.Verdict{Status: 503, Rule: core.RuleNotRunning, Detail: "its sender has gone"}
	}
}

// intent is what tells one admitted commit from another between the verdict and its result.
type intent struct {
	execution core.ExecutionID
	version   core.Version
}

func (w *Worker) remember(in core.CommitIntent, r core.RequestID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := intent{in.Execution, in.Name.Version}
	w.admitted[key] = append(w.admitted[key], r)
}

// Settled implements [gate.Authority].
func (w *Worker) Settled(in core.CommitIntent, outcome core.Outcome, landed bool) {
	w.mu.Lock()
	key := intent{in.Execution, in.Name.Version}
	waiting := w.admitted[key]
	if len(waiting) == 0 {
		w.mu.Unlock()
		return
	}
	r := waiting[0]
	if w.admitted[key] = waiting[1:]; len(waiting) == 1 {
		delete(w.admitted, key)
	}
	w.mu.Unlock()
	w.loop.tell(core.CommitSettled{Request: r, Target: in.Target, Version: in.Name.Version, Outcome: outcome})
}

// Worked implements [gate.Authority].
func (w *Worker) Worked(e core.ExecutionID, work gate.Work) {
	w.mu.Lock()
	t, ok := w.targets[e]
	w.mu.Unlock()
	if !ok {
		return
	}
	ev := core.Worked{Target: t, Execution: e, Bytes: work.Bytes}
	if work.Written {
		ev.Writes = 1
	}
	w.loop.tell(ev)
}

// Mode implements [gate.Authority].
func (w *Worker) Mode(t core.Target) core.Mode {
	m := core.Draining // while nothing can be read, clients raise no marks
	w.loop.inside(func() { m = w.m.Mode(t) })
	return m
}

// Watched implements [gate.Authority].
func (w *Worker) Watched(t core.Target) (from core.Version, running bool) {
	w.loop.inside(func() { from, _, running = w.m.Watched(t) })
	return from, running
}
