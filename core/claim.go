package core

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// How a master claims a table: reserve it for a worker with room, if nothing is in the way.

// retryEvery is how soon a step that the KV did not answer is tried again.
const retryEvery = time.Second

// maybeClaim reserves the target if nothing is in the way, and remembers what is.
func (m *Master) maybeClaim(at Moment, tr *track, tv *TargetView) {
	worker, reason := m.obstacle(at, tr, tv)
	if reason != ReasonNoBytes && reason != ReasonNoSlot && reason != ReasonNone {
		tr.short = alarm{}
	}
	if tr.because(at, reason); reason == ReasonNone {
		tr.claim = Execution{ID: "next", Target: tr.target, Kind: KindMerge, Endpoint: worker.Value.Endpoint, Bytes: max(1, tr.need)}
		m.survey(tr, trackClaiming)
	}
}

// obstacle is why the target can't be reserved right now, or the worker that it could be reserved for.
func (m *Master) obstacle(at Moment, tr *track, tv *TargetView) (Seen[WorkerRecord], Reason) {
	s := m.situation(at, tr, tv)
	s.Phase = "" // whoever reserves has looked at that
	if reason := s.Reason(); reason != ReasonNone {
		return Seen[WorkerRecord]{}, reason
	}
	return m.pick(at, tr.target, atLeast(tr.need))
}

func attention(tv *TargetView) bool {
	return slices.ContainsFunc(tv.Failures, func(f Seen[FailureRecord]) bool { return f.Value.Attention })
}

// closed reports whether the table was refused because the lake and the KV tell different histories.
func closed(tv *TargetView) bool {
	return slices.ContainsFunc(tv.Failures, func(f Seen[FailureRecord]) bool { return contradicts(Failure{Code: f.Value.Code}) })
}

// due are the shards that may be tried now. It sets the alarm for the next one.
func (m *Master) due(at Moment, tr *track, tv *TargetView, shards []ShardID) []ShardID {
	if tr.now {
		return shards
	}
	due, next := tr.sights.due(at, tv.Failures, shards)
	tr.watch.due = earliest(tr.watch.due, next)
	return due
}

// pick chooses the worker: among those with room, by rendezvous hashing, so that a table stays with one
// worker while nothing changes. Those on which the target has failed come last.
func (m *Master) pick(at Moment, t Target, wants need) (Seen[WorkerRecord], Reason) {
	var best Seen[WorkerRecord]
	reason, busy := ReasonNoWorker, false
	better := func(a, b Endpoint) bool {
		if x, y := m.track(t).shun(a), m.track(t).shun(b); x != y && !guard.Out(guard.FailedWorkersLast) {
			return x < y
		}
		return weight(t, a) > weight(t, b)
	}
	for _, w := range m.view.Workers {
		mode, why := EffectiveMode(voices(m.view, t, w))
		if why == ReasonNone {
			why = m.fits(w.Value, t, wants)
		}
		if why == ReasonNone && m.kept(at, w.Value, t) {
			why = ReasonNoBytes
		}
		switch {
		case why != ReasonNone:
			reason = nearest(reason, why)
			full := why == ReasonNoSlot || why == ReasonNoBytes
			busy = busy || full && mode == Owned && m.track(t).shun(w.Value.Endpoint) < 0
		case mode != Owned:
		case !best.Present() || better(w.Value.Endpoint, best.Value.Endpoint):
			best = w
		}
	}
	if !best.Present() || busy && m.track(t).shun(best.Value.Endpoint) >= 0 && m.track(t).spares(at, m.cfg.Limits.Queue) {
		return Seen[WorkerRecord]{}, reason
	}
	return best, ReasonNone
}

// claiming reports whether a reservation of ours is to be made, is under way, or was answered just now.
func (tr *track) claiming() bool {
	return tr.step == trackClaiming || tr.step == trackReserving || tr.step == trackSending && tr.starting
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
		tr.adopt = m.adoption(tr.target)
		m.adopting(at, tr, ev)
		return
	}
	if _, reason := m.obstacle(at, tr, tv); tv.Execution.Present() || reason != ReasonNone {
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
	take := tv.Failure(tr.target, Unowned).Value.Portion(m.due(at, tr, tv, asked))
	e := Execution{
		ID: ExecutionID(at.Fresh), Number: tv.Table.Value.LastExecution + 1, Target: tr.target, Kind: KindMerge,
		Phase: Reserved, Charge: Unowned,
		Shards:    slices.Concat(take, idle),
		Requested: tv.Demand.Value.First, Reserved: at.Wall,
		TableID: tv.Table.Value.ID, Path: tv.Table.Value.Path, Scheme: tv.Table.Value.Scheme,
	}
	slices.Sort(e.Shards)
	e.Shards = slices.Compact(e.Shards)
	budget := tv.Failure(tr.target, e.Charge).Value
	short := Bytes(0)
	worker, reason := m.pick(at, tr.target, func(w WorkerRecord, free Bytes) Bytes {
		take, _ := room(ev.Table, e, w.Pass.Within(budget.PassBytes).Within(free))
		short = min(cmp.Or(short, take), take)
		return take
	})
	if reason != ReasonNone {
		if tr.need = short; !tr.short.Set {
			tr.short = alarmAt(at.Mono.Add(m.cfg.Limits.Queue))
		}
		tr.because(at, reason) // what it needs is known now: it is looked at again when somebody has that much
		return
	}
	tr.need, tr.short, tr.spare = 0, alarm{}, alarm{}
	e.Endpoint = worker.Value.Endpoint
	free := m.roomOf(worker.Value, tr.target).Bytes
	e.Bytes, e.Limit = room(ev.Table, e, worker.Value.Pass.Within(budget.PassBytes).Within(free))
	if guard.Out(guard.ExecutionIDReused) {
		e.ID = ExecutionID(tr.target)
	}
	tr.claim = e
	m.wait(tr, trackReserving, m.out.commit(Reserve(Judged{m.view, tr.target, worker}, e)))
}

// room is what an execution is going to take of the table as it is now, and what its worker takes at most.
func room(t Table, e Execution, limits PassLimits) (take, limit Bytes) {
	limits = limits.withDefaults()
	pass, _ := PlanPass(t, e.Shards, limits.Turn(e.Number))
	return max(1, pass.Size), limits.Size
}

// reserved asks the worker to start what is now reserved for it.
func (m *Master) reserved(at Moment, tr *track, ev Committed) {
	switch ev.Outcome {
	case Applied:
		e := tr.claim
		tr.now, tr.below, tr.pending = false, false, alarm{}
		m.out.note(e, CodeOK, fmt.Sprintf("execution %d reserved for %s", e.Number, e.Endpoint))
		tr.watch = newWatch(at, e, m.cfg.Limits)
		m.send(at, tr, e, func(id EffectID, address string) Effect { return SendStart{id, address, e} })
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
