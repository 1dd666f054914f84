package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// The gate's decision, as part of the worker: a commit is judged by the execution's immutable record,
// then admitted in the KV, then put. One admission of an execution is asked at a time.

// heldCommit waits for its admission.
type heldCommit struct {
	Request  RequestID
	Intent   CommitIntent
	Deadline MonoTime
}

// storedCommit was let through and has no result yet.
type storedCommit struct {
	Request RequestID
	Version Version
}

// maxHeld bounds the commits of one execution that wait. An engine has one under way.
const maxHeld = 16

// admitRetryEvery is how often an admission that the KV did not answer is asked again.
const admitRetryEvery = 500 * time.Millisecond

func (w *Worker) commitRequested(at Moment, ev CommitRequested) {
	j := w.job(ev.Intent.Target, ev.Intent.Execution)
	switch {
	case j == nil || j.step != jobRunning || j.end != nil:
		w.answer(ev.Request, refuse(403, RuleNotRunning, "execution %s of %s is not running here", ev.Intent.Execution, ev.Intent.Target))
		return
	case len(j.held) >= maxHeld:
		w.answer(ev.Request, refuse(503, RuleKVUnavailable, "%d commits of this execution wait already", maxHeld))
		return
	}
	j.held = append(j.held, heldCommit{ev.Request, ev.Intent, at.Mono.Add(w.cfg.Limits.KVHold)})
	w.admitNext(j)
}

// admitNext judges the commit that waits longest and asks for its admission. A version that is known
// to be admitted needs no second one: it was recorded before any Freeze, so recovery occupies it.
func (w *Worker) admitNext(j *job) {
	for j.admitAwait == 0 && !j.admitRetry.Set && len(j.held) > 0 {
		h := j.held[0]
		v := h.Intent.Name.Version
		if verdict := Judge(j.exec, j.landed, j.attempt, h.Intent); !verdict.OK() {
			j.held = j.held[1:]
			j.refusal = verdict
			w.answer(h.Request, verdict)
			continue
		}
		if j.watermarks.Of(Base) >= v {
			w.letThrough(j)
			continue
		}
		j.asked = v
		j.admitAwait = w.await(j, w.out.commit(Admit(j.exec, j.watermarks, Base, v)))
	}
}

// admitAnswered takes what the KV said of an Admit, or what the records say where it said nothing.
func (w *Worker) admitAnswered(at Moment, j *job, ev Event) {
	j.admitAwait = 0
	switch ev := ev.(type) {
	case Committed:
		taken := ev.Outcome == Applied || ev.Outcome == Unknown && guard.Out(guard.UnknownAdmitIsAdmitted) ||
			ev.Outcome == NotApplied && guard.Out(guard.FailedAdmitIsAdmitted)
		if !taken {
			j.admitLost = ev.Outcome == Unknown
			w.readWatermarks(j)
			return
		}
		w.out.note(j.exec, CodeOK, fmt.Sprintf("base v%d admitted for execution %d", j.asked, j.exec.Number))
		j.watermarks = j.watermarks.Raise(Base, j.asked)
		w.admitNext(j)
	case ReadDone:
		w.haveWatermarks(at, j, ev)
	}
}

func (w *Worker) readWatermarks(j *job) {
	t := j.exec.Target
	j.admitAwait = w.await(j, w.out.read(Range{Key: OwnerKey(t)}, Range{Key: ExecutionKey(t)}, Range{Key: AdmittedKey(t)}))
}

func (w *Worker) haveWatermarks(at Moment, j *job, ev ReadDone) {
	if !ev.OK {
		j.admitRetry = alarmAt(at.Mono.Add(admitRetryEvery))
		return
	}
	tv := ViewOf(ev.Revision, ev.Records).Target(j.exec.Target)
	if tv.Execution.Raw != Encode(j.exec) || tv.Admitted.Value.Execution != j.exec.ID {
		w.refuseHeld(j, RuleNotRunning, "the execution is frozen or gone")
		return // the watch, or Finish, finds the same
	}
	j.watermarks = tv.Admitted.Value
	if j.admitLost && j.watermarks.Of(Base) < j.asked {
		j.admitRetry = alarmAt(at.Mono.Add(admitRetryEvery)) // it came to nothing: again, but not without a pause
		return
	}
	w.admitNext(j)
}

// letThrough answers the first held commit: put it to the lake now.
func (w *Worker) letThrough(j *job) {
	h := j.held[0]
	j.held = j.held[1:]
	j.inStorage = append(j.inStorage, storedCommit{h.Request, h.Intent.Name.Version})
	w.answer(h.Request, Verdict{})
}

func (w *Worker) commitSettled(at Moment, ev CommitSettled) {
	j, ok := w.jobs[ev.Target]
	if !ok {
		return
	}
	i := slices.IndexFunc(j.inStorage, func(s storedCommit) bool { return s.Request == ev.Request })
	if i < 0 {
		return // of an execution before this one, or told twice
	}
	j.inStorage = slices.Delete(j.inStorage, i, i+1)
	switch ev.Outcome {
	case Applied:
		j.landed, j.refusal = append(j.landed, ev.Version), Verdict{}
		w.out.note(j.exec, CodeOK, fmt.Sprintf("base v%d landed", ev.Version))
		w.progressed(at, j)
	case Unknown:
		j.indefinite = true
		// An engine that gives up after this fails for the storage, whatever it makes of a 503.
		j.refusal = refuse(503, RuleTurn, "storage did not say in time whether version %d landed", ev.Version)
		w.out.note(j.exec, CodeStorage, fmt.Sprintf("base v%d: nobody can tell whether it landed", ev.Version))
	}
	w.maybeFinish(at, j)
}

// commitDropped forgets a commit whose sender has gone before it was put. If it is being admitted, or has
// been, its watermark stands all the same.
func (w *Worker) commitDropped(at Moment, ev CommitDropped) {
	j, ok := w.jobs[ev.Target]
	if !ok {
		return
	}
	j.held = slices.DeleteFunc(j.held, func(h heldCommit) bool { return h.Request == ev.Request })
	j.inStorage = slices.DeleteFunc(j.inStorage, func(s storedCommit) bool { return s.Request == ev.Request })
	w.maybeFinish(at, j)
}

// refuseHeld answers everything that waits.
func (w *Worker) refuseHeld(j *job, r Rule, why string) {
	for _, h := range j.held {
		w.answer(h.Request, refuse(403, r, "%s", why))
	}
	j.held = nil
}

func (w *Worker) admitTick(at Moment, j *job) {
	if j.admitRetry.due(at.Mono) {
		j.admitRetry = alarm{}
		switch {
		case j.admitAwait != 0:
		case j.admitLost:
			j.admitLost = false
			w.admitNext(j)
		default:
			w.readWatermarks(j)
		}
	}
	late := func(h heldCommit) bool { return at.Mono >= h.Deadline }
	for _, h := range j.held {
		if late(h) {
			j.refusal = refuse(503, RuleKVUnavailable, "the KV did not answer within %v", w.cfg.Limits.KVHold)
			w.answer(h.Request, j.refusal)
		}
	}
	j.held = slices.DeleteFunc(j.held, late)
}

func (j *job) admitAlarm() alarm {
	next := j.admitRetry
	for _, h := range j.held {
		next = earliest(next, alarmAt(h.Deadline))
	}
	return next
}

func (w *Worker) answer(r RequestID, v Verdict) { w.out.add(AnswerCommit{Request: r, Verdict: v}) }
