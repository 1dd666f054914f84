package core

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Self-merges have no master that must exist, so workers recover those whose worker is gone: at its start
// what an earlier process of its own name has left, and what others have left once their registration has
// been gone for a while.

// orphanAfter is how long the registration of an endpoint must be gone, as this worker has seen it.
const orphanAfter = 60 * time.Second

// orphan is a self-merge that nobody seems to run.
type orphan struct {
	id     ExecutionID
	due    alarm // when it is recovered; waits anew when its worker is back
	settle *settlement
}

// orphaned looks whether the execution of a target has lost its worker.
func (w *Worker) orphaned(at Moment, t Target) {
	tv := w.view.Target(t)
	o := w.orphans[t]
	if o == nil && tv.Execution.Value.Kind != KindSelf {
		return
	}
	e := tv.Execution.Value
	switch {
	case e.Kind != KindSelf || w.job(t, e.ID) != nil || w.claims(e) || !w.register.live || tv.Broken:
		if o != nil && (o.settle == nil || e.ID != o.id) {
			delete(w.orphans, t)
		}
		return
	case o != nil && o.settle != nil:
		return
	}
	if o == nil || o.id != e.ID {
		o = &orphan{id: e.ID}
		w.orphans[t] = o
	}
	ours := e.Endpoint == w.cfg.Endpoint
	if !ours && ownWorker(w.view, e.Endpoint).Present() {
		o.due = alarm{} // it lives, or another process of its name does, which recovers it by itself
		return
	}
	// A worker that slept has not seen whether the other one came back meanwhile: a fresh window.
	slept := !ours && o.due.Set && at.Mono.Since(o.due.At) > w.cfg.Limits.sampleGap() && !guard.Out(guard.SleepIsNoEvidence)
	if !o.due.Set || slept {
		o.due = alarmAt(at.Mono)
		if !ours {
			o.due = alarmAt(at.Mono.Add(orphanAfter))
		}
	}
	if !o.due.due(at.Mono) {
		return
	}
	why := Failure{Code: CodeWorkerGone, Detail: fmt.Sprintf("worker %s was gone while it ran", e.Endpoint)}
	if e.Phase == Reserved {
		why = Failure{Code: CodeQueueLimit, Detail: fmt.Sprintf("reserved by worker %s, which was gone before it started", e.Endpoint)}
	}
	o.settle = &settlement{Target: t, ID: e.ID, By: w.cfg.Instance, Limits: w.cfg.Limits, Judged: &e, Why: why}
	o.settle.begin(&w.out)
	w.awaits[o.settle.await] = t
}

// claims reports whether an execution is one that this very process is reserving or has just reserved.
func (w *Worker) claims(e Execution) bool {
	for _, s := range w.selves {
		if s.writes.Target == e.Target && s.claim.ID == e.ID {
			return true
		}
	}
	return false
}

// orphanSettle goes on with a recovery.
func (w *Worker) orphanSettle(at Moment, t Target, o *orphan, ev Event) {
	if o.settle.handle(at, ev, &w.out) == settling {
		if o.settle.await != 0 {
			w.awaits[o.settle.await] = t
		}
		return
	}
	// The watch will show that it is gone; if it doesn't, it is looked at again.
	o.settle, o.due = nil, alarmAt(at.Mono.Add(retryEvery))
}

func (o *orphan) alarm() alarm {
	if o.settle != nil {
		return o.settle.alarm()
	}
	return o.due
}
