package core

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// settlement brings one execution that will do no further work to its Release: Freeze, fences,
// FinishRecovery, Release, as far as each is needed. Masters run it, and so does the worker that ran the
// execution; any number of them may run it at once.
//
// It never trusts what it remembers. Every round reads the records again and acts on the phase it finds,
// so an answer that was lost, a step that somebody else made first and a crash in between all look the
// same: as a record in some phase.
type settlement struct {
	Target Target
	ID     ExecutionID
	By     Instance
	Limits Limits
	// Judged is the record that was judged to be frozen; nil if only a finished one is to be released.
	Judged *Execution
	// Progress is the record of progress that it was judged by, if that was the reason.
	Progress *Seen[Progress]
	Why      Failure
	// Forced: a person has decided that the table at this path is the right one, whatever its id.
	Forced bool
	// Gone: that person has said, too, that the table is gone for good.
	Gone bool

	step   settleStep
	await  EffectID
	exec   Execution
	target *TargetView
	// fence state
	watermarks []Watermark
	fenced     []Fenced
	deletes    Seen[Deletes]
	deletesAge alarm
	rounds     int
	began      MonoTime
	// retry state
	tries int
	wake  alarm
	last  Failure // why it waits
}

type settleStep uint8

const (
	settleReading settleStep = iota
	settleFreezing
	settleLooking // at the table, to fence
	settleFencing
	settleFinishing
	settleJudging // at the table, to release
	settleReleasing
	settleWaiting
	settleDone
)

// settleResult is what came of a settlement.
type settleResult uint8

const (
	settling  settleResult = iota
	settled                // released, by us or by somebody else
	withdrawn              // it lives: it made progress, or is running under another judgement
)

// begin starts it, or starts it over.
func (s *settlement) begin(o *outbox) {
	s.step = settleReading
	s.await = o.read(
		Range{Key: OwnerKey(s.Target)}, Range{Key: ExecutionKey(s.Target)}, Range{Key: AdmittedKey(s.Target)},
		Range{Key: ProgressKey(s.Target)}, Range{Key: TableKey(s.Target)}, Range{Key: DemandKey(s.Target)},
		Range{Key: DeletesKey(s.Target)}, Range{Key: ReclaimKey(s.Target)}, FailureRange(s.Target))
}

// force makes it go on with whatever table stands at the path. One that waits starts over at once.
func (s *settlement) force(gone bool, o *outbox) {
	s.Forced, s.Gone = true, gone
	if s.step == settleWaiting {
		s.wake = alarm{}
		s.begin(o)
	}
}

// handle takes the answer it waits for, or a tick.
func (s *settlement) handle(at Moment, ev Event, o *outbox) settleResult {
	if s.step == settleWaiting {
		if s.wake.due(at.Mono) {
			s.wake = alarm{}
			s.begin(o)
		}
		return settling
	}
	if id := answered(ev); id == 0 || id != s.await {
		return settling
	}
	s.await = 0
	switch ev := ev.(type) {
	case ReadDone:
		return s.haveRead(at, ev, o)
	case Surveyed:
		if s.step == settleLooking {
			s.haveLooked(at, ev, o)
		} else {
			s.haveJudged(at, ev, o)
		}
	case FenceDone:
		if ev.Outcome == Applied {
			o.note(s.exec, CodeOK, "fence landed")
			if s.Forced {
				s.began = at.Mono // a copy that a person has brought back may lie hundreds of versions behind
			}
		} else if !ev.Failure.OK() {
			o.note(s.exec, ev.Failure.Code, "fence: "+ev.Failure.Detail)
		}
		s.look(o) // whatever came of it, the table tells
	case Committed:
		if s.step == settleReleasing && ev.Outcome == Applied {
			s.step = settleDone
			return settled
		}
		if ev.Outcome == Unknown {
			s.retryAt(at, retryEvery) // a KV that takes no writes may well be read: not without a pause
			return settling
		}
		s.begin(o) // applied or lost: the records tell
	}
	return settling
}

func (s *settlement) haveRead(at Moment, ev ReadDone, o *outbox) settleResult {
	if !ev.OK {
		s.retryAt(at, time.Second)
		return settling
	}
	v := ViewOf(ev.Revision, ev.Records)
	tv := v.Target(s.Target)
	if tv.Broken {
		s.fail(at, Failure{Code: CodeKV, Detail: "a record of the table can't be read; it was written by a newer Sluice"}, o)
		return settling
	}
	if !tv.Execution.Present() || tv.Execution.Value.ID != s.ID {
		s.step = settleDone
		return settled
	}
	s.exec, s.target = tv.Execution.Value, tv
	if s.exec.Phase == Running && guard.Out(guard.EarlyWatermarks) {
		s.watermarks = append([]Watermark{}, tv.Admitted.Value.Versions...)
	}
	s.deletes = tv.Deletes
	switch s.exec.Phase {
	case Reserved, Running, Uncertain:
		return s.freeze(at, tv, o)
	case Recovering:
		// The watermarks come from a read that has seen the frozen record: no Admit can follow it
		// (attack early-watermarks).
		if !guard.Out(guard.EarlyWatermarks) || s.watermarks == nil {
			s.watermarks = tv.Admitted.Value.Versions
		}
		s.began, s.rounds, s.fenced = at.Mono, 0, nil
		s.look(o)
	case Finished, Recovered:
		s.judge(o)
	}
	return settling
}

func (s *settlement) freeze(at Moment, tv *TargetView, o *outbox) settleResult {
	progress := s.Progress
	if s.exec.Phase == Uncertain {
		progress = nil // it is over, by its own word: nothing that it was judged by before counts any more
	} else {
		if s.Judged == nil || Encode(s.exec) != Encode(*s.Judged) {
			s.step = settleDone
			return withdrawn
		}
		if s.Progress != nil && tv.Progress.Mod != s.Progress.Mod {
			s.step = settleDone
			return withdrawn
		}
	}
	why := s.Why
	if s.exec.End != nil {
		why = *s.exec.End
	}
	_, txn := Freeze(s.exec, progress, why, s.By, at.Wall)
	o.note(s.exec, why.Code, fmt.Sprintf("freeze execution %d, which is %s", s.exec.Number, s.exec.Phase))
	s.step = settleFreezing
	s.await = o.commit(txn)
	return settling
}

// judge reads the base, which decides the outcome. An execution that admitted nothing changed nothing: it is
// released whatever the look shows, also when the table is gone or another one.
func (s *settlement) judge(o *outbox) {
	s.step = settleJudging
	s.await = o.survey(s.Target)
}

func (s *settlement) haveJudged(at Moment, ev Surveyed, o *outbox) {
	f := ev.Failure
	if f.OK() && !s.Forced {
		f = SameTable(s.exec, ev.Table)
	}
	harmless := len(s.target.Admitted.Value.Versions) == 0
	if !f.OK() && !harmless && !s.gone(f) {
		s.fail(at, f, o)
		return
	}
	r := Released{Execution: s.exec, Table: ev.Table, Target: s.target, At: at.Wall, By: s.By}
	if !f.OK() {
		r.Table = Table{Target: s.Target}
	}
	if merged, f := r.Outcome(); merged {
		done := "merged"
		if s.exec.Kind.Maintains() {
			done = string(s.exec.Kind) + " is done"
		}
		o.note(s.exec, CodeOK, fmt.Sprintf("release execution %d: %s, base is v%d", s.exec.Number, done, ev.Table.Base.Version))
	} else {
		o.note(s.exec, f.Code, fmt.Sprintf("release execution %d: %s", s.exec.Number, f.Detail))
	}
	s.step = settleReleasing
	s.await = o.commit(Release(r))
}

// gone reports whether the table is missing, as a person has said that it is for good, and as a second look
// shows as well.
func (s *settlement) gone(f Failure) bool {
	return s.Gone && f.Code == CodeTableMissing && s.tries > 0
}

// fail keeps the ownership and waits: 30, 60, 120, 240, then every 300 s.
func (s *settlement) fail(at Moment, f Failure, o *outbox) {
	s.tries++
	wait := settleDelay(s.tries)
	if f != s.last { // one line a reason, not one a try
		s.last = f
		o.note(s.exec, f.Code, fmt.Sprintf("execution %d keeps the table, tried again in %v: %s", s.exec.Number, wait, f.Detail))
	}
	if s.target != nil {
		// Ownership that can't be resolved needs a person's eye; it is no further attempt.
		budget := s.target.Failure(s.Target, s.exec.Charge)
		o.commit(Attend(s.exec, budget, f, at.Wall))
	}
	s.retryAt(at, wait)
}

func (s *settlement) retryAt(at Moment, wait time.Duration) {
	s.step, s.await = settleWaiting, 0
	s.wake = alarmAt(at.Mono.Add(wait))
}

func (s *settlement) alarm() alarm { return s.wake }
