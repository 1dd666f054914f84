package core

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// How a master finds work and claims it: look at the table, post demand, reserve for a worker with room.

// retryEvery is how soon a step that the KV did not answer is tried again.
const retryEvery = time.Second

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
	asked := len(tr.requests) > 0
	f := ev.Failure
	if f.OK() {
		_, f = Stand(tv.Table.Pointer(), ev.Table, ev.Numbers)
	}
	if contradicts(f) {
		m.confirm(tr, f)
		return
	}
	if !f.OK() {
		// Nothing was tried, so nobody is charged: a table may be owned before it exists.
		m.answerAll(tr, AnswerMerge{Failure: f})
		m.say(tr, f)
		return
	}
	var shards []ShardID
	pending := 0
	for _, s := range ev.Table.Shards {
		if n := len(ev.Table.Pending(s)); n > 0 {
			shards = append(shards, s.Shard)
			pending += n
		}
	}
	// Shards are taken out of the demand by a reservation, and put back by its release.
	if tv.Execution.Present() {
		shards = slices.DeleteFunc(shards, func(s ShardID) bool { return slices.Contains(tv.Execution.Value.Shards, s) })
	}
	mode, reason := EffectiveMode(voices(m.view, tr.target, Seen[WorkerRecord]{}))
	switch {
	case reason != ReasonNone:
	case mode == Draining:
		reason = ReasonDraining
	case mode == Direct:
		reason = ReasonNotSelected
	}
	if reason != ReasonNone {
		tr.reason = reason
		m.answerAll(tr, AnswerMerge{Pending: pending, Refused: reason})
		return
	}
	why := "sweep"
	if asked {
		why = "request"
	}
	demand, changed := tv.Demand.Value.Add(at.Wall, shards, why)
	if !changed {
		after := tv.Table.Value.LastExecution
		if tv.Execution.Present() { // it has taken the shards, and what it leaves its release asks for again
			after = tv.Execution.Value.Number - 1
		}
		m.answerAll(tr, AnswerMerge{Pending: pending, After: after})
		return
	}
	m.wait(tr, trackPosting, m.out.commit(PostDemand(tv.Demand, tr.target, demand)))
}

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
	case len(m.due(at, tr, m.view.Target(tr.target), []ShardID{""})) > 0:
		m.charge(at, tr, f)
	default:
		m.say(tr, f) // charged already, and not due again: a look is no attempt
	}
}

// posted looks again if the demand was changed by somebody else meanwhile: a post is never lost.
func (m *Master) posted(at Moment, tr *track, ev Committed) {
	if ev.Outcome != Applied {
		tr.sweep = alarmAt(at.Mono)
		tr.retry = alarmAt(at.Mono.Add(retryEvery))
		return
	}
	tv := m.view.Target(tr.target)
	m.answerAll(tr, AnswerMerge{Pending: 1, After: tv.Table.Value.LastExecution})
}

// maybeClaim reserves the target if nothing is in the way, and remembers what is.
func (m *Master) maybeClaim(at Moment, tr *track, tv *TargetView) {
	tr.reason = m.obstacle(at, tr, tv)
	if tr.reason == ReasonNone {
		m.survey(tr, trackClaiming)
	}
}

// obstacle is why the target can't be reserved right now.
func (m *Master) obstacle(at Moment, tr *track, tv *TargetView) Reason {
	mode, reason := EffectiveMode(voices(m.view, tr.target, Seen[WorkerRecord]{}))
	switch {
	case !m.register.live:
		return ReasonKVDown
	case reason != ReasonNone:
		return reason
	case mode == Draining:
		return ReasonDraining
	case mode != Owned:
		return ReasonNotSelected
	case tv.Demand.Value.Empty() && !attention(tv):
		return ReasonNoDemand
	case len(m.due(at, tr, tv, tv.Demand.Value.Shards)) == 0:
		switch {
		case closed(tv):
			return ReasonLakeChanged
		case attention(tv):
			return ReasonAttention
		}
		return ReasonBackoff
	}
	_, reason = m.pick(tr.target)
	return reason
}

func attention(tv *TargetView) bool {
	return slices.ContainsFunc(tv.Failures, func(f Seen[FailureRecord]) bool { return f.Value.Attention })
}

// closed reports whether the table was refused because the lake and the KV tell different histories.
func closed(tv *TargetView) bool {
	return slices.ContainsFunc(tv.Failures, func(f Seen[FailureRecord]) bool { return contradicts(Failure{Code: f.Value.Code}) })
}

// due are the shards that every budget of the target lets run now: the latest of the records counts, so
// a new endpoint name starts nothing over (attack new-names). It sets the alarm for the next one.
func (m *Master) due(at Moment, tr *track, tv *TargetView, shards []ShardID) []ShardID {
	if tr.now {
		return shards
	}
	for _, f := range tv.Failures {
		seen := at.Mono.Since(tr.sights[f.Key].at)
		due := f.Value.Due(shards, seen)
		if next := f.Value.NextDue(seen); len(due) < len(shards) && next > 0 {
			tr.watch.due = earliest(tr.watch.due, alarmAt(at.Mono.Add(next-seen)))
		}
		shards = due
	}
	return shards
}

// pick chooses the worker: among those with a free slot, by rendezvous hashing, so that a table stays
// with one worker while nothing changes. Those on which the target has failed come last.
func (m *Master) pick(t Target) (Seen[WorkerRecord], Reason) {
	busy := map[Endpoint]int{}
	for _, other := range sortedKeys(m.view.Targets) {
		if tv := m.view.Targets[other]; tv.Execution.Present() {
			busy[tv.Execution.Value.Endpoint]++
		} else if tr, ok := m.tracks[other]; ok && other != t && tr.claiming() {
			busy[tr.claim.Endpoint]++ // ours, and not in the view yet
		}
	}
	var best Seen[WorkerRecord]
	reason := ReasonNoWorker
	better := func(a, b Endpoint) bool {
		if x, y := m.track(t).shun(a), m.track(t).shun(b); x != y && !guard.Out(guard.FailedWorkersLast) {
			return x < y
		}
		return weight(t, a) > weight(t, b)
	}
	for _, w := range m.view.Workers {
		mode, why := EffectiveMode(voices(m.view, t, w))
		switch {
		case why != ReasonNone:
			reason = why
		case mode != Owned:
		case busy[w.Value.Endpoint] >= w.Value.Slots:
			reason = ReasonNoSlot
		case !best.Present() || better(w.Value.Endpoint, best.Value.Endpoint):
			best = w
		}
	}
	if best.Present() {
		return best, ReasonNone
	}
	return best, reason
}

// claiming reports whether a reservation of ours is under way, or was answered just now.
func (tr *track) claiming() bool {
	return tr.step == trackReserving || tr.step == trackSending && tr.starting
}

func weight(t Target, e Endpoint) uint64 {
	h := fnv.New64a()
	h.Write([]byte(string(e) + "\x00" + string(t)))
	return h.Sum64()
}

// claimSurveyed reserves what is pending, or adopts the table first.
func (m *Master) claimSurveyed(at Moment, tr *track, ev Surveyed) {
	tv := m.view.Target(tr.target)
	if !ev.Failure.OK() {
		m.charge(at, tr, ev.Failure)
		return
	}
	switch standing, f := Stand(tv.Table.Pointer(), ev.Table, ev.Numbers); {
	case contradicts(f):
		m.confirm(tr, f)
		return
	case standing == StandsRefused:
		m.charge(at, tr, f)
		return
	case standing == StandsUnadopted:
		tr.adopt = &adoption{}
		m.adoptFrom(at, tr, ev)
		return
	}
	if tv.Execution.Present() || m.obstacle(at, tr, tv) != ReasonNone {
		return // things have moved meanwhile
	}
	var pending []ShardID
	for _, s := range ev.Table.Shards {
		if len(ev.Table.Pending(s)) > 0 {
			pending = append(pending, s.Shard)
		}
	}
	asked := tv.Demand.Value.Shards
	idle := slices.DeleteFunc(slices.Clone(asked), func(s ShardID) bool { return slices.Contains(pending, s) })
	if len(idle) == len(asked) {
		m.wait(tr, trackWriting, m.out.commit(PostDemand(tv.Demand, tr.target, tv.Demand.Value.Take(asked))))
		return
	}
	worker, reason := m.pick(tr.target)
	if reason != ReasonNone {
		tr.reason = reason
		return
	}
	e := Execution{
		ID: ExecutionID(at.Fresh), Number: tv.Table.Value.LastExecution + 1, Target: tr.target, Kind: KindMerge,
		Phase: Reserved, Endpoint: worker.Value.Endpoint, Charge: Unowned,
		Shards:    slices.Concat(m.due(at, tr, tv, asked), idle),
		Requested: tv.Demand.Value.First, Reserved: at.Wall,
		TableID: tv.Table.Value.ID, Path: tv.Table.Value.Path, Scheme: tv.Table.Value.Scheme,
	}
	slices.Sort(e.Shards)
	e.Shards = slices.Compact(e.Shards)
	if guard.Out(guard.ExecutionIDReused) {
		e.ID = ExecutionID(tr.target)
	}
	tr.claim = e
	m.wait(tr, trackReserving, m.out.commit(Reserve(Judged{m.view, tr.target, worker}, e)))
}

// reserved asks the worker to start what is now reserved for it.
func (m *Master) reserved(at Moment, tr *track, ev Committed) {
	switch ev.Outcome {
	case Applied:
		e := tr.claim
		tr.now = false
		m.out.note(e, CodeOK, fmt.Sprintf("execution %d reserved for %s", e.Number, e.Endpoint))
		tr.watch = newWatch(at, e, m.cfg.Limits)
		m.send(tr, e, func(id EffectID, address string) Effect { return SendStart{id, address, e} })
	case NotApplied, Unknown:
		// Something that it was judged by has changed, or nobody knows: the watch will show it.
		tr.retry = alarmAt(at.Mono.Add(retryEvery))
	}
}

// charge records a failure that kept the target from being reserved at all.
func (m *Master) charge(at Moment, tr *track, f Failure) {
	tr.now = false
	m.say(tr, f)
	tr.retry = alarmAt(at.Mono.Add(retryEvery))
	budget := m.view.Target(tr.target).Failure(tr.target, Unowned)
	m.wait(tr, trackWriting, m.out.commit(Charge(budget, f, at.Wall)))
}

// say notes a failure: one line a reason, not one a try.
func (m *Master) say(tr *track, f Failure) {
	if f.Detail != tr.said {
		tr.said = f.Detail
		m.out.add(Note{Target: tr.target, Code: f.Code, Text: f.Detail})
	}
}
