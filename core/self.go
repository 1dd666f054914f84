package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// Direct mode: a worker merges the shards that it writes itself, and schedules that itself. Such a merge is
// an execution like any other (kind self): Reserve, Start, Admit, Finish, Release, the same fences. So a
// table that becomes owned meanwhile waits for it, or fences it (attack direct-then-owned).

// Written are shards that a worker writes.
type Written struct {
	Target Target `json:"target"`
	// Shards are sorted; none means all shards of the table.
	Shards []ShardID `json:"shards,omitempty"`
}

// SelfMerge is how a worker merges what it writes, while nobody else does.
type SelfMerge struct {
	Trigger Trigger // the zero value is [DefaultTrigger]
	Slots   int     // self-merges at a time, in a pool of their own; 0 means 1
}

func (s SelfMerge) withDefaults() SelfMerge {
	if s.Trigger == (Trigger{}) {
		s.Trigger = DefaultTrigger
	}
	s.Slots = max(1, s.Slots)
	return s
}

// selfMerge is what a worker has to do with one table that it writes. It is volatile.
type selfMerge struct {
	writes Written
	step   selfStep
	await  EffectID
	retry  alarm // not before then
	look   alarm // the next look
	since  alarm // when something pending was seen first
	ready  bool  // it only waits for a slot
	sights sights
	adopt  *adoption
	claim  Execution // the reservation under way
	known  Revision  // of the table's record, when the table was looked at
	lake   Failure   // what that look showed of the lake's history, to be confirmed
	said   string
}

type selfStep uint8

const (
	selfIdle selfStep = iota
	selfLooking
	selfConfirming
	selfAdopting
	selfReserving
	selfWriting // a charge
)

// selfEvaluate looks for the next thing to do about a table that this worker writes.
func (w *Worker) selfEvaluate(at Moment, s *selfMerge) {
	tv := w.view.Target(s.writes.Target)
	s.sights = s.sights.seeing(at, tv.Failures)
	if s.retry.due(at.Mono) {
		s.retry = alarm{}
	}
	if s.step != selfIdle || s.retry.Set {
		return
	}
	if e := tv.Execution.Value; e.Phase == Reserved && e.ID == s.claim.ID && w.job(e.Target, e.ID) == nil {
		s.claim = Execution{}
		w.take(at, e) // the answer to our Reserve was lost
		return
	}
	if !w.mayMerge(tv, s.writes.Target) {
		if tv.Execution.Present() {
			s.look = alarmAt(at.Mono) // when that is over
		}
		return
	}
	if !s.look.Set || s.ready {
		s.look = alarmAt(at.Mono)
	}
	if s.look.due(at.Mono) {
		s.look = alarmAt(at.Mono.Add(w.cfg.Limits.Poll))
		s.known = tv.Table.Mod
		w.selfWait(s, selfLooking, w.out.survey(s.writes.Target))
	}
}

// selvesInTurn are the tables that this worker writes, those first that only wait for a slot, by how long they have
// had something pending: a table that is written all the time comes after the others.
func (w *Worker) selvesInTurn() []*selfMerge {
	out := slices.Clone(w.selves)
	slices.SortStableFunc(out, func(a, b *selfMerge) int {
		if a.ready != b.ready {
			if a.ready {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.since.At, b.since.At)
	})
	return out
}

// mayMerge reports whether this worker may merge a table itself now.
func (w *Worker) mayMerge(tv *TargetView, t Target) bool {
	if !w.register.live || w.cfg.Unsafe != "" || w.draining || tv.Broken || tv.Execution.Present() || w.jobs[t] != nil {
		return false
	}
	mode, reason := EffectiveMode(voices(w.view, t, ownWorker(w.view, w.cfg.Endpoint)))
	if (mode != Direct || reason != ReasonNone) && !guard.Out(guard.SelfMergeIsDirect) {
		return false
	}
	running := 0
	for _, other := range sortedKeys(w.jobs) {
		if w.jobs[other].exec.Kind == KindSelf {
			running++
		}
	}
	for _, other := range w.selves {
		if other.step == selfReserving || other.step == selfLooking && other.ready {
			running++
		}
	}
	return running < w.cfg.Self.Slots
}

func (w *Worker) selfWait(s *selfMerge, step selfStep, id EffectID) {
	s.step, s.await = step, id
	w.awaits[id] = s.writes.Target
}

// selfAnswered takes the answer to the step under way.
func (w *Worker) selfAnswered(at Moment, s *selfMerge, ev Event) {
	s.await = 0
	step := s.step
	s.step = selfIdle
	switch step {
	case selfLooking:
		w.selfLooked(at, s, ev.(Surveyed))
	case selfConfirming:
		w.selfConfirmed(at, s, ev.(ReadDone))
	case selfAdopting:
		w.selfAdopt(at, s, ev)
	case selfReserving:
		w.selfReserved(at, s, ev.(Committed))
	case selfWriting:
		s.retry = alarmAt(at.Mono.Add(retryEvery)) // the watch shows it earlier
	}
	w.selfEvaluate(at, s)
}

// selfLooked reserves what is pending, if it is enough.
func (w *Worker) selfLooked(at Moment, s *selfMerge, ev Surveyed) {
	tv := w.view.Target(s.writes.Target)
	if !ev.Failure.OK() {
		w.selfSay(s, ev.Failure) // nothing was tried, so nobody is charged
		return
	}
	shards, pending := s.pending(ev.Table)
	s.ready = false
	if pending == 0 {
		s.since = alarm{}
		return
	}
	if !s.since.Set {
		s.since = alarmAt(at.Mono)
	}
	if trigger := tv.Policy.peek().Trigger(w.cfg.Self.Trigger); !trigger.Reached(pending, at.Mono.Since(s.since.At)) {
		s.look = earliest(s.look, trigger.nextAt(s.since.At))
		return
	}
	due, next := s.sights.due(at, tv.Failures, w.cfg.Endpoint, shards)
	s.look = earliest(s.look, next)
	if len(due) == 0 {
		return
	}
	switch standing, f := Stand(tv.Table.Pointer(), ev.Table, ev.Numbers); {
	case contradicts(f):
		s.lake = f
		w.selfWait(s, selfConfirming, w.out.read(Range{Key: TableKey(s.writes.Target)}))
	case standing == StandsRefused:
		w.selfCharge(at, s, f)
	case !w.mayMerge(tv, s.writes.Target):
		s.ready = true // for a slot, unless things have moved meanwhile
	case standing == StandsUnadopted:
		s.adopt = &adoption{Target: s.writes.Target, Rounds: w.cfg.Limits.BarrierRounds}
		w.selfAdopt(at, s, ev)
	default:
		w.selfReserve(at, s, ev.Table, due)
	}
}

// pending are the shards that this worker writes with something above their marks, and how much it is.
func (s *selfMerge) pending(t Table) (shards []ShardID, n int) {
	for _, sh := range t.Shards {
		ours := len(s.writes.Shards) == 0 || slices.Contains(s.writes.Shards, sh.Shard)
		if p := len(t.Pending(sh)); ours && p > 0 {
			shards, n = append(shards, sh.Shard), n+p
		}
	}
	return shards, n
}

func (w *Worker) selfReserve(at Moment, s *selfMerge, t Table, due []ShardID) {
	target := s.writes.Target
	tv := w.view.Target(target)
	budget := tv.Failure(target, w.cfg.Endpoint).Value
	e := Execution{
		ID: ExecutionID(at.Fresh), Number: tv.Table.Value.LastExecution + 1, Target: target, Kind: KindSelf,
		Phase: Reserved, Endpoint: w.cfg.Endpoint, Charge: w.cfg.Endpoint,
		Shards: budget.Portion(due), Requested: at.Wall, Reserved: at.Wall,
		TableID: tv.Table.Value.ID, Path: tv.Table.Value.Path, Scheme: tv.Table.Value.Scheme,
	}
	e.Bytes, e.Limit = room(t, e, w.passes(target).Within(budget.PassBytes))
	s.claim = e
	w.selfWait(s, selfReserving, w.out.commit(Reserve(Judged{w.view, target, ownWorker(w.view, w.cfg.Endpoint)}, e)))
}

func (w *Worker) selfReserved(at Moment, s *selfMerge, ev Committed) {
	if ev.Outcome != Applied {
		// Something that it was judged by has changed, or nobody knows: the watch will show it.
		s.look, s.retry = alarmAt(at.Mono), alarmAt(at.Mono.Add(retryEvery))
		return
	}
	e := s.claim
	s.claim, s.since, s.ready = Execution{}, alarm{}, false
	s.retry = alarmAt(at.Mono.Add(retryEvery)) // until the watch shows it
	w.out.note(e, CodeOK, fmt.Sprintf("execution %d reserved by its writer", e.Number))
	w.take(at, e)
}

func (w *Worker) selfAdopt(at Moment, s *selfMerge, ev Event) {
	result, f := s.adopt.handle(at, ev, w.view.Target(s.writes.Target), &w.out)
	switch result {
	case adopting:
		w.selfWait(s, selfAdopting, s.adopt.await)
		return
	case notAdopted:
		if f.unseen() {
			w.selfSay(s, f) // its lake is away, and the next look comes
			break
		}
		w.selfCharge(at, s, f)
	default:
		s.look, s.retry = alarmAt(at.Mono), alarmAt(at.Mono.Add(retryEvery))
	}
	s.adopt = nil
}

// selfConfirmed closes the table if its record has not changed since before the look that contradicts it.
func (w *Worker) selfConfirmed(at Moment, s *selfMerge, ev ReadDone) {
	s.retry = alarmAt(at.Mono.Add(retryEvery))
	if ev.OK && ViewOf(ev.Revision, ev.Records).Target(s.writes.Target).Table.Mod == s.known {
		w.selfCharge(at, s, s.lake)
	}
}

// selfCharge records a failure that kept the table from being reserved at all.
func (w *Worker) selfCharge(at Moment, s *selfMerge, f Failure) {
	w.selfSay(s, f)
	budget := w.view.Target(s.writes.Target).Failure(s.writes.Target, w.cfg.Endpoint)
	w.selfWait(s, selfWriting, w.out.commit(Charge(budget, f, at.Wall)))
}

func (w *Worker) selfSay(s *selfMerge, f Failure) {
	if f.Detail != s.said {
		s.said = f.Detail
		w.out.add(Note{Target: s.writes.Target, Code: f.Code, Text: f.Detail})
	}
}

// alarm is when the table wants a tick. While it may not be merged, changes of the records wake it.
func (w *Worker) selfAlarm(s *selfMerge) alarm {
	switch {
	case s.step != selfIdle:
		return alarm{}
	case s.retry.Set:
		return s.retry
	case !w.mayMerge(w.view.Target(s.writes.Target), s.writes.Target):
		return alarm{}
	}
	return s.look
}
