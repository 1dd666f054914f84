package core

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// How a master watches an execution from outside. It is the second line: the worker enforces the limits
// itself, and settles its own executions; a master acts when the worker doesn't.

// rpcLimit is how long an RPC to a worker takes at most.
const rpcLimit = 10 * time.Second

// watch is what this master has seen of the current execution, since its own first sight of it: a new
// observer gives a fresh window.
type watch struct {
	ID        ExecutionID
	Phase     Phase
	pulse     Pulse // since the first sight of this phase
	Progress  Revision
	counters  Counters // what its worker has told last
	probe     alarm
	suspect   Revision       // the progress record at the first failed probe
	cancelled alarm          // when its grace ends
	judged    Seen[Progress] // as it was when it was cancelled
	second    alarm          // when a limit of the second line runs out
	due       alarm          // when a budget lets the target run again
	why       Failure
}

func newWatch(at Moment, e Execution, l Limits) watch {
	return watch{
		ID: e.ID, Phase: e.Phase, pulse: Pulse{Since: at.Mono, Sampled: at.Mono, Heard: at.Mono, Progress: at.Mono},
		probe: alarmAt(at.Mono.Add(l.Probe)),
	}
}

func (w watch) alarm() alarm { return earliest(w.probe, w.cancelled, w.second, w.due) }

// watchOver looks at the current execution of a target.
func (m *Master) watchOver(at Moment, tr *track, tv *TargetView) {
	e, l, w := tv.Execution.Value, m.limits(tr.target), &tr.watch
	// A master that slept has not seen what happened meanwhile, even if it hears of it later: its own
	// sleep is nobody's lack of progress (a gap in sampling starts a fresh window).
	slept := w.pulse.Gap(at.Mono, l)
	if tv.Latch.Value.Mode == Draining && guard.Out(guard.DrainDropsRecovery) {
		*w = watch{}
		return
	}
	w.pulse.Sampled = at.Mono
	tr.shares = m.shares(at, tr, tv, tv.Demand.Value) // to be shown
	w.due = alarm{}                                   // whether a budget is due is asked again when this one is over; until then it must not ring
	tr.ran(e, tv)
	if w.ID != e.ID || w.Phase != e.Phase || slept {
		*w = newWatch(at, e, l)
		w.probe = alarmAt(at.Mono) // a first look at once
	}
	if tv.Progress.Mod != w.Progress {
		w.Progress, w.pulse.Progress = tv.Progress.Mod, at.Mono
	}
	tr.because(at, Situation{Phase: e.Phase}.Reason())
	switch e.Phase {
	case Reserved:
		m.watchReserved(at, tr, e)
	case Running:
		m.watchRunning(at, tr, tv)
	default:
		// Its worker does this by itself, if it lives.
		wait := l.Probe
		if m.worker(e).Value.Instance != e.Instance {
			wait = 0
		}
		if at.Mono.Since(w.pulse.Since) >= wait || tr.adopt != nil {
			m.settle(tr, e, nil, Failure{})
			return
		}
		w.probe = alarmAt(w.pulse.Since.Add(wait))
	}
}

func (m *Master) watchReserved(at Moment, tr *track, e Execution) {
	w := &tr.watch
	queue := m.limits(tr.target).Queue
	w.second = alarmAt(w.pulse.Since.Add(queue))
	switch {
	case w.second.due(at.Mono) || tr.adopt != nil:
		m.settle(tr, e, nil, Failure{Code: CodeQueueLimit, Detail: fmt.Sprintf("reserved for %s and not started within %v", e.Endpoint, queue)})
	case e.Kind == KindSelf:
		w.probe = alarm{} // nobody starts it but the process that has reserved it
	case w.probe.due(at.Mono):
		w.probe = alarmAt(at.Mono.Add(m.cfg.Limits.Probe))
		m.send(at, tr, e, func(id EffectID, address string) Effect { return SendStart{id, address, e} })
	}
}

func (m *Master) watchRunning(at Moment, tr *track, tv *TargetView) {
	e, w := tv.Execution.Value, &tr.watch
	l := m.limits(tr.target).allowing(tv.Progress.Value.Counters).allowing(w.counters)
	if !w.cancelled.Set {
		// Later than the limits of the worker itself, and the grace that it gives.
		idle := w.pulse.Progress.Add(l.NoProgress + 2*l.CancelGrace)
		w.second, w.why = alarmAt(idle), Failure{Code: CodeNoProgress, Detail: fmt.Sprintf("no progress for %v", l.NoProgress+l.CancelGrace)}
		if end := w.pulse.Since.Add(l.Execution + 2*l.CancelGrace); l.Execution > 0 && end < idle {
			w.second, w.why = alarmAt(end), Failure{Code: CodeTimeLimit, Detail: fmt.Sprintf("ran for %v", l.Execution)}
		}
	}
	switch {
	case w.cancelled.due(at.Mono):
		m.out.note(e, w.why.Code, fmt.Sprintf("cancel unanswered for %v: freeze execution %d", l.CancelGrace, e.Number))
		m.freeze(tr, tv, w.judged, w.why)
	case !w.cancelled.Set && (w.second.due(at.Mono) || tr.adopt != nil):
		if !w.second.due(at.Mono) {
			w.why = Failure{Code: CodeCancelled, Detail: "the table is adopted anew"}
		}
		w.second = alarm{}
		w.cancelled, w.judged = alarmAt(at.Mono.Add(l.CancelGrace)), tv.Progress
		w.probe = alarmAt(at.Mono.Add(l.Probe)) // the cancel is one; without a worker to send it to, it must not ring again at once
		m.out.note(e, w.why.Code, fmt.Sprintf("%s (execution %d on %s): cancel", w.why.Detail, e.Number, e.Endpoint))
		m.send(at, tr, e, func(id EffectID, address string) Effect {
			return SendCancel{id, address, e.Target, e.ID, w.why}
		})
	case w.probe.due(at.Mono):
		w.probe = alarmAt(at.Mono.Add(l.Probe))
		m.send(at, tr, e, func(id EffectID, address string) Effect { return SendProbe{id, address, e.Target, e.ID} })
	}
}

// send makes an RPC to the worker of an execution; without a registration it fails at once.
func (m *Master) send(at Moment, tr *track, e Execution, rpc func(EffectID, string) Effect) {
	worker := m.worker(e)
	if !worker.Present() {
		m.unreached(at, tr, m.view.Target(tr.target), e)
		return
	}
	id := m.out.id()
	m.wait(tr, trackSending, id)
	effect := rpc(id, worker.Value.Address)
	_, tr.starting = effect.(SendStart)
	m.out.add(effect)
}

func (m *Master) worker(e Execution) Seen[WorkerRecord] { return ownWorker(m.view, e.Endpoint) }

// replied takes what the worker said, or that it said nothing.
func (m *Master) replied(at Moment, tr *track, ev Replied) {
	tv := m.view.Target(tr.target)
	e := tv.Execution.Value
	if !tv.Execution.Present() || e.ID != tr.watch.ID {
		return
	}
	switch {
	case !ev.OK:
		m.unreached(at, tr, tv, e)
	case ev.Refused == ReasonDraining && e.Phase == Reserved:
		// It was told to take nothing new just after we had judged by its load: it never will start this.
		m.settle(tr, e, nil, Failure{Code: CodeCancelled, Detail: fmt.Sprintf("worker %s takes nothing new any more", e.Endpoint)})
	case ev.Refused != ReasonNone:
		tr.watch.probe = alarmAt(at.Mono.Add(min(m.cfg.Limits.Probe, time.Second)))
	case (!tr.starting || guard.Out(guard.StartAnswersNothing)) && !ev.Status.Known && e.Phase == Running:
		// Its worker has forgotten it: it was restarted. From Reserved that counts for nothing, since
		// the start may still be under way (attack unknown-too-early); and the answer to a start says
		// nothing of it, though the record may show it running by then.
		m.out.note(e, CodeWorkerGone, fmt.Sprintf("%s does not know execution %d", e.Endpoint, e.Number))
		m.settle(tr, e, nil, Failure{Code: CodeWorkerGone, Detail: fmt.Sprintf("worker %s was restarted while it ran", e.Endpoint)})
	default:
		w := &tr.watch
		w.pulse.Missed, w.pulse.Heard, w.pulse.Answered = 0, at.Mono, true
		if ev.Status.Known && ev.Status.Counters != w.counters {
			// Completed work that its worker tells us of counts like the record of it, which a master
			// that is cut off from the KV doesn't see.
			w.counters, w.pulse.Progress = ev.Status.Counters, at.Mono
		}
	}
}

// unreached counts a probe that failed. Probes alone recover nothing: a master that can't reach a
// healthy worker would kill every merge of it (attack partitioned-master). The worker's registration must
// be gone too, or its progress must have stood still meanwhile.
func (m *Master) unreached(at Moment, tr *track, tv *TargetView, e Execution) {
	w := &tr.watch
	if e.Phase != Running {
		return
	}
	if w.pulse.Missed == 0 {
		w.suspect, w.pulse.Missing = tv.Progress.Mod, at.Mono
	}
	w.pulse.Missed++
	gone := m.worker(e).Value.Instance != e.Instance
	if w.pulse.Missed < m.cfg.Limits.ProbeFailures {
		return
	}
	if !gone && tv.Progress.Mod != w.suspect && !guard.Out(guard.ProbesAloneRecoverNothing) {
		w.pulse.Missed = 0 // it works, we just can't reach it: count anew
		return
	}
	why := Failure{Code: CodeWorkerGone, Detail: fmt.Sprintf("worker %s did not answer %d probes in a row", e.Endpoint, w.pulse.Missed)}
	m.out.note(e, why.Code, why.Detail)
	progress := tv.Progress
	m.settle(tr, e, &progress, why)
}

// freeze settles an execution that did not end by itself. One that was judged by its lack of progress
// goes on if it has made some since, and be it at the last moment; one that has run for too long, or that a
// person wants ended, does not.
func (m *Master) freeze(tr *track, tv *TargetView, judged Seen[Progress], why Failure) {
	var progress *Seen[Progress]
	if why.Code == CodeNoProgress {
		progress = &judged
	}
	m.settle(tr, tv.Execution.Value, progress, why)
}

func (m *Master) settle(tr *track, e Execution, progress *Seen[Progress], why Failure) {
	tr.settle = &settlement{
		Target: e.Target, ID: e.ID, By: m.cfg.Instance, Limits: m.cfg.Limits, Judged: &e, Progress: progress, Why: why,
		Forced: tr.adopt != nil && tr.adopt.Forced, Gone: tr.adopt != nil && tr.adopt.Gone,
	}
	tr.settle.begin(&m.out)
	m.awaits[tr.settle.await] = tr.target
}

// settling goes on with the settlement under way.
func (m *Master) settling(at Moment, tr *track, ev Event) {
	result := tr.settle.handle(at, ev, &m.out)
	if result == settling {
		if tr.settle.await != 0 {
			m.awaits[tr.settle.await] = tr.target
		} else if tr.adopt != nil && tr.adopt.Request != 0 && !tr.settle.last.OK() {
			// Whoever asked for an adoption hears why it can't be had yet; the settlement goes on.
			m.adoptAnswer(tr, AnswerMerge{Failure: tr.settle.last})
			tr.adopt = nil
		}
		return
	}
	tr.settle = nil
	tr.watch = watch{}
	if result == settled {
		// The watch will show that it is gone; until then there is nothing to do about it.
		tr.retry = alarmAt(at.Mono.Add(retryEvery))
		return
	}
	m.evaluate(at, tr)
}
