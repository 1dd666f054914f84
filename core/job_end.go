package core

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// How an execution ends on its worker: by its engine's end, by a limit, by a cancel. In each case the
// engine goes first, then every commit in storage gets its result or its grace, then Finish or Freeze.

func (w *Worker) engineReported(at Moment, ev EngineReported) {
	j := w.job(ev.Target, ev.Execution)
	if j == nil {
		return
	}
	c, was := ev.Counters, j.progress.Counters
	c.Writes = was.Writes
	// Counters that fall belong to a repeat, and repeats are not progress until they pass what was.
	c.Rows, c.Batches, c.Bytes = max(c.Rows, was.Rows), max(c.Batches, was.Batches), max(c.Bytes, was.Bytes)
	if c.Step == was.Step && c.Rows == was.Rows && c.Batches == was.Batches && c.Bytes == was.Bytes && !guard.Out(guard.HeartbeatIsNotProgress) {
		return // a report that adds nothing is a heartbeat, and heartbeats are not progress (invariant 7)
	}
	j.progress.Counters = c
	w.progressed(at, j)
}

// progressed notes completed work: it moves the no-progress limit, and from time to time the record.
func (w *Worker) progressed(at Moment, j *job) {
	if j.end != nil || j.step != jobRunning {
		return
	}
	j.progressAt = at.Mono
	every := min(max(time.Second, w.limits(j.exec.Target).NoProgress/20), 10*time.Second) // below three probes
	declared := j.progress.Counters.Allowance != j.allowance                              // which masters must know at once
	if j.progressAwait != 0 || at.Mono.Since(max(j.started, j.progressWrote)) < every && !declared {
		return
	}
	j.progressWrote, j.allowance = at.Mono, j.progress.Counters.Allowance
	j.progress.Sequence++
	j.progressAwait = w.await(j, w.out.commit(Txn{
		Name: "progress", If: owned(j.exec), Then: []Op{Put(ProgressKey(j.exec.Target), Encode(j.progress))},
	}))
}

func (w *Worker) engineEnded(at Moment, ev EngineEnded) {
	j := w.job(ev.Target, ev.Execution)
	if j == nil || !j.engineUp {
		return
	}
	j.engineUp = false
	if w.repeats(at, j, ev.Failure) {
		return
	}
	if j.end == nil {
		end := ev.Failure
		if end.Code == CodeEngineUnknown && !j.refusal.OK() {
			// The gate's own answer comes before what the engine made of it.
			end = Failure{Code: j.refusal.code(), Detail: fmt.Sprintf("the gate refused a commit (%s): %s", j.refusal.Rule, j.refusal.Detail)}
		}
		j.end = &end
	}
	w.refuseHeld(j, RuleNotRunning, "its engine has ended")
	if !j.grace.Set {
		j.grace = alarmAt(at.Mono.Add(w.cfg.Limits.CancelGrace))
	}
	w.maybeFinish(at, j)
}

func (w *Worker) cancelRequested(at Moment, ev CancelRequested) {
	if j := w.job(ev.Target, ev.Execution); j != nil {
		w.cancel(at, j, ev.Why)
	}
	w.out.add(AnswerStatus{ev.Request, w.status(ev.Target, ev.Execution)})
}

// cancel tells the execution to end. What is held is refused; what is in storage keeps its grace.
func (w *Worker) cancel(at Moment, j *job, why Failure) {
	if j.end != nil || j.step != jobRunning {
		return
	}
	j.end = &why
	w.out.note(j.exec, why.Code, fmt.Sprintf("%s (execution %d): cancel", why.Detail, j.exec.Number))
	w.refuseHeld(j, RuleNotRunning, "the execution is cancelled")
	w.stop(j)
	j.grace = alarmAt(at.Mono.Add(w.cfg.Limits.CancelGrace))
	if guard.Out(guard.CancelIsStopped) {
		j.engineUp = false
		w.finish(at, j)
	}
	w.maybeFinish(at, j) // nothing may be under way
}

// maybeFinish finishes once the engine is gone and no commit is in storage any more.
func (w *Worker) maybeFinish(at Moment, j *job) {
	if j.cleanup != nil && j.cleanup.flying {
		return
	}
	if j.step == jobRunning && j.end != nil && !j.engineUp && (len(j.inStorage) == 0 || guard.Out(guard.EngineGoneIsDone)) {
		w.finish(at, j)
	}
}

func (w *Worker) finish(at Moment, j *job) {
	j.step, j.grace = jobFinishing, alarm{}
	end := Failure{}
	if j.end != nil {
		end = *j.end
	}
	if end.OK() && !j.bad.OK() {
		end = j.bad // the pass is done, but a shard had to be left out: it is charged
	}
	w.stop(j)
	j.progress.Sequence++
	_, txn := Finish(j.exec, j.progress, !j.indefinite, j.more, end, at.Wall)
	j.await = w.await(j, w.out.commit(txn))
}

// settleOwn releases what has finished, or freezes what won't.
func (w *Worker) settleOwn(at Moment, j *job, why Failure) {
	judged := j.exec
	j.step, j.grace = jobSettling, alarm{}
	j.settlement = &settlement{
		Target: j.exec.Target, ID: j.exec.ID, By: w.cfg.Instance, Limits: w.cfg.Limits, Judged: &judged, Why: why,
	}
	j.settlement.begin(&w.out)
	w.await(j, j.settlement.await)
}

// stuck reports whether all that is left of a job is a table that can't be given back, and that is tried again
// and again, or waits for deletes that may still land: it takes no room any more, and nobody waits for it (attack gone-table).
func (j *job) stuck() bool {
	return j.settlement != nil && (j.settlement.tries > 0 || j.settlement.deletesAge.Set && !guard.Out(guard.DeletesTakeNoSlot))
}

func (w *Worker) settle(at Moment, j *job, ev Event) {
	result := j.settlement.handle(at, ev, &w.out)
	if result != settling {
		w.drop(j)
		return
	}
	if j.settlement.await != 0 {
		w.await(j, j.settlement.await)
	}
}

// goOn makes the step again that has come to nothing.
func (w *Worker) goOn(at Moment, j *job) {
	unsent := j.unsent
	j.unsent = false
	switch {
	case j.step == jobRunning && j.cleanup != nil:
		w.clean(j)
	case j.step == jobRunning:
		w.lookAgain(j)
	case unsent && j.step == jobConfirming:
		w.sendStart(j, j.reservedForm())
	case unsent:
		w.finish(at, j)
	default:
		w.readRecord(j, j.step)
	}
}

// jobTick enforces the limits. A tick that comes late, early or twice finds the same answers.
func (w *Worker) jobTick(at Moment, j *job) {
	if j.settlement != nil {
		w.settle(at, j, Tick{})
		return
	}
	if j.retry.due(at.Mono) {
		j.retry = alarm{}
		w.goOn(at, j)
	}
	w.admitTick(at, j)
	l := w.limits(j.exec.Target).allowing(j.progress.Counters)
	switch {
	case j.step != jobRunning:
	case j.grace.due(at.Mono) && guard.Out(guard.GraceIsDone):
		w.finish(at, j)
	case j.grace.due(at.Mono):
		// A commit is still in storage, or the engine won't go: freeze, fence, hand over. Whatever
		// lands later meets an occupied version.
		w.stop(j)
		w.refuseHeld(j, RuleNotRunning, "the execution is frozen")
		w.out.note(j.exec, j.end.Code, fmt.Sprintf("execution %d did not end within %v: freeze", j.exec.Number, l.CancelGrace))
		w.settleOwn(at, j, *j.end)
	case j.end != nil:
	case l.Execution > 0 && at.Mono.Since(j.started) >= l.Execution:
		w.cancel(at, j, Failure{Code: CodeTimeLimit, Detail: fmt.Sprintf("ran for %v", l.Execution)})
	case at.Mono.Since(j.progressAt) >= l.NoProgress:
		w.cancel(at, j, Failure{Code: CodeNoProgress, Detail: fmt.Sprintf("no progress for %v", l.NoProgress)})
	}
}

// alarm is when the job wants a tick.
func (j *job) alarm(l Limits) alarm {
	if j.settlement != nil {
		return j.settlement.alarm()
	}
	next, l := earliest(j.retry, j.admitAlarm(), j.grace), l.allowing(j.progress.Counters)
	if j.step == jobRunning && j.end == nil {
		next = earliest(next, alarmAt(j.progressAt.Add(l.NoProgress)))
		if l.Execution > 0 {
			next = earliest(next, alarmAt(j.started.Add(l.Execution)))
		}
	}
	return next
}
