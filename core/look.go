package core

import (
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// How a master finds work: it looks at tables and posts demand for what is pending.

// sweepDue reports whether it is time to look at an owned table by ourselves.
func (m *Master) sweepDue(at Moment, tr *track, tv *TargetView) bool {
	if m.cfg.Declares.Says(tr.target) != Owned && tv.Latch.Value.Mode != Owned && tv.Policy.Value.Mode != Owned {
		tr.sweep = alarm{}
		return false
	}
	if !tr.sweep.Set {
		tr.sweep = alarmAt(at.Mono)
	}
	return tr.sweep.due(at.Mono)
}

func (m *Master) look(at Moment, tr *track) {
	tr.sweep = alarmAt(at.Mono.Add(m.cfg.Limits.Poll))
	for _, e := range sortedKeys(tr.short) {
		tr.short[e] = shortage{kept: tr.short[e].kept} // what it needs is looked at anew
	}
	tv := m.view.Target(tr.target)
	tr.known = tv.Table.Mod
	if tr.due(at, KindCleanup, tv) {
		m.wait(tr, trackLooking, m.out.surveyDeep(tr.target))
		return
	}
	m.survey(tr, trackLooking)
}

// survey looks at the table, and remembers which record of it we knew before.
func (m *Master) survey(tr *track, step trackStep) {
	tr.known = m.view.Target(tr.target).Table.Mod
	m.wait(tr, step, m.out.survey(tr.target))
}

// looked posts demand for what is pending, and answers those who asked.
func (m *Master) looked(at Moment, tr *track, ev Surveyed) {
	tv := m.view.Target(tr.target)
	asked := slices.ContainsFunc(tr.requests, func(r request) bool { return r.kind == "" })
	if tv.Broken {
		return // a record that came meanwhile can't be read: nothing is concluded from its absence
	}
	f := ev.Failure
	if f.OK() {
		_, f = Stand(tv.Table.Pointer(), ev.Table, ev.Numbers)
	}
	if contradicts(f) {
		m.confirm(tr, f)
		return
	}
	tr.seen(f)
	if !f.OK() {
		// Nothing was tried, so nobody is charged: a table may be owned before it exists.
		m.answerAll(tr, AnswerMerge{Failure: f})
		m.say(tr, f)
		return
	}
	shards, found := ev.Table.unmerged()
	tr.found = found
	// Shards are taken out of the demand by a reservation, and put back by its release.
	if tv.Execution.Present() && tv.Execution.Value.Kind != KindSelf {
		shards = slices.DeleteFunc(shards, func(s ShardID) bool { return slices.Contains(tv.Execution.Value.Shards, s) })
	}
	mode, reason := m.view.Mode(tr.target)
	switch {
	case reason != ReasonNone:
	case mode == Draining:
		reason = ReasonDraining
	case mode == Direct:
		reason = ReasonNotSelected
		if m.written(tr.target) {
			reason = ReasonDirect
		}
	}
	if reason != ReasonNone {
		tr.because(at, reason)
		m.answerAll(tr, AnswerMerge{Pending: tr.found, Refused: reason})
		return
	}
	demand, changed := tv.Demand.Value, false
	why := "sweep"
	if asked {
		why = "request"
	}
	if below := m.below(at, tr, tv); !below || asked {
		demand, changed = demand.Add(at.Wall, tv.Table.Value.LastExecution, shards, why)
	}
	for _, r := range tr.requests {
		if r.kind != "" && r.kind != tv.Execution.Value.Kind {
			next, more := demand.Ask(at.Wall, tv.Table.Value.LastExecution, r.kind, "request")
			demand, changed = next, changed || more
		}
	}
	if next, more := m.upkeep(at, tr, tv, ev.Table, demand); more {
		demand, changed = next, true
	}
	if !changed {
		after := tv.Table.Value.LastExecution
		if tv.Execution.Present() { // it has taken the shards, and what it leaves its release asks for again
			after = tv.Execution.Value.Number - 1
		}
		m.answerAll(tr, AnswerMerge{Pending: tr.found, After: after})
		return
	}
	m.wait(tr, trackPosting, m.out.commit(PostDemand(tv.Demand, tr.target, demand)))
}

// below reports whether less is pending than is worth asking for, and sees to it that its age is noticed.
func (m *Master) below(at Moment, tr *track, tv *TargetView) bool {
	trigger := m.trigger(tv)
	switch {
	case tr.found == 0 || tv.Execution.Present():
		tr.pending = alarm{}
	case !tr.pending.Set:
		tr.pending = alarmAt(at.Mono)
	}
	tr.below = tr.pending.Set && tv.Demand.Value.Empty() && !trigger.Reached(tr.found, at.Mono.Since(tr.pending.At)) && !guard.Out(guard.DemandHasAThreshold)
	if tr.below {
		tr.sweep = earliest(tr.sweep, trigger.nextAt(tr.pending.At))
	}
	return tr.below
}

// trigger is what is worth a merge of a target.
func (m *Master) trigger(tv *TargetView) Trigger { return tv.Policy.peek().Trigger(m.cfg.Trigger) }

// confirm asks the KV itself before a table is closed, because the lake contradicts what we know of it: our
// view may lag behind what somebody else has reserved, released or adopted since, or the look at the table
// may be older than our view.
func (m *Master) confirm(tr *track, f Failure) {
	tr.contradiction = f
	m.wait(tr, trackConfirming, m.out.read(Range{Key: TableKey(tr.target)}))
}

// confirmed closes the table if its record has not changed since before the look. If it has, the look says
// nothing, and the next one finds nothing wrong.
func (m *Master) confirmed(at Moment, tr *track, ev ReadDone) {
	f := tr.contradiction
	tr.retry = alarmAt(at.Mono.Add(retryEvery))
	if !ev.OK || !guard.Out(guard.ContradictionConfirmed) && ViewOf(ev.Revision, ev.Records).Target(tr.target).Table.Mod != tr.known {
		return
	}
	switch {
	case len(tr.requests) > 0:
		m.answerAll(tr, AnswerMerge{Failure: f})
		m.say(tr, f)
	case m.mayCharge(at, tr):
		m.charge(at, tr, f)
	default:
		m.say(tr, f) // charged already, and not due again: a look is no attempt
	}
}

// mayCharge reports whether the table may be tried again: until then a look is no attempt.
func (m *Master) mayCharge(at Moment, tr *track) bool {
	tv := m.view.Target(tr.target)
	due, _ := tr.sights.due(at, tv.Failures, m.blamed(at, tr, tv), []ShardID{""})
	return len(due) > 0
}

// posted looks again if the demand was changed by somebody else meanwhile: a post is never lost.
func (m *Master) posted(at Moment, tr *track, ev Committed) {
	if ev.Outcome != Applied {
		tr.sweep = alarmAt(at.Mono)
		tr.retry = alarmAt(at.Mono.Add(retryEvery))
		return
	}
	tv := m.view.Target(tr.target)
	m.answerAll(tr, AnswerMerge{Pending: tr.found, After: tv.Table.Value.LastExecution})
}
