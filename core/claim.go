package core

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// How a master claims a table: reserve it for a worker with room, if nothing is in the way.

// retryEvery is how soon a step that the KV did not answer is tried again.
const retryEvery = time.Second

// maybeClaim reserves some of the target if nothing is in the way, and remembers what is.
func (m *Master) maybeClaim(at Moment, tr *track, tv *TargetView) {
	next, worker, reason := m.obstacle(at, tr, tv, tv.Demand.Value, func(s share) need { return atLeast(tr.short[s.endpoint].need) })
	if !full(reason) && reason != ReasonNone {
		tr.short = map[Endpoint]shortage{}
	}
	if reason == ReasonNone && tr.blind.looks > 0 {
		tr.because(at, ReasonLakeDown) // until a look has shown something
	} else {
		tr.because(at, reason)
	}
	if reason == ReasonNone {
		need := tr.short[next.endpoint].need
		tr.claim = Execution{ID: "next", Target: tr.target, Kind: cmp.Or(next.kind, KindMerge), Endpoint: worker.Value.Endpoint, Charge: next.endpoint, Bytes: max(1, need)}
		m.survey(tr, trackClaiming)
	}
}

// obstacle is why nothing of what is asked for can be reserved right now, or else what can be, and for whom.
func (m *Master) obstacle(at Moment, tr *track, tv *TargetView, asked Demand, wants func(share) need) (share, Seen[WorkerRecord], Reason) {
	tr.shares = m.shares(at, tr, tv, asked)
	if !asked.Empty() && !slices.ContainsFunc(tr.shares, func(s share) bool { return s.rushed }) {
		tr.now = false
	}
	s := m.situation(at, tr, tv)
	s.Phase = "" // whoever reserves has looked at that
	if s.Blind {
		tr.watch.due = earliest(tr.watch.due, tr.blind.until)
	}
	if reason := s.Reason(); reason != ReasonNone {
		return share{}, Seen[WorkerRecord]{}, reason
	}
	next, worker, reason := m.choose(at, tr, tr.shares, wants)
	if reason != ReasonNone {
		return share{}, worker, reason
	}
	return tr.shares[next], worker, ReasonNone
}

func attention(tv *TargetView) bool {
	return slices.ContainsFunc(tv.Failures, func(f Seen[FailureRecord]) bool { return f.Value.Attention })
}

// closed reports whether the table was refused because the lake and the KV tell different histories.
func closed(tv *TargetView) bool {
	return slices.ContainsFunc(tv.Failures, func(f Seen[FailureRecord]) bool { return contradicts(Failure{Code: f.Value.Code}) })
}

// pick chooses the worker: among those with room, by rendezvous hashing, so that a table stays with one
// worker while nothing changes. Those on which the target has failed come last.
func (m *Master) pick(at Moment, t Target, kind Kind, wants need) (Seen[WorkerRecord], Reason) {
	var best Seen[WorkerRecord]
	reason, waits := ReasonNoWorker, math.MaxInt // the least shunned of those that have no room only now
	queue := m.limits(t).Queue
	shun := func(e Endpoint) int { return m.track(t).shun(at, e, queue) }
	better := func(a, b Endpoint) bool {
		if x, y := shun(a), shun(b); x != y && !guard.Out(guard.FailedWorkersLast) {
			return x < y
		}
		return weight(t, a) > weight(t, b)
	}
	for _, w := range m.view.Workers {
		mode, why := EffectiveMode(voices(m.view, t, w))
		if !slices.Contains(w.Value.Capabilities, kind.capability()) {
			continue // it can't do this at all
		}
		if why == ReasonNone && kind.Maintains() && m.track(t).silent(at, w.Value.Endpoint, 4*queue) {
			why = ReasonNoWorker
		}
		if why == ReasonNone {
			why = m.hasRoom(at, w.Value, t, wants)
		}
		switch {
		case why != ReasonNone:
			reason = nearest(reason, why)
			if full(why) && mode == Owned {
				waits = min(waits, shun(w.Value.Endpoint))
			}
		case mode != Owned:
		case !best.Present() || better(w.Value.Endpoint, best.Value.Endpoint):
			best = w
		}
	}
	if !best.Present() || waits < shun(best.Value.Endpoint) && m.track(t).spares(at, queue) {
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
	// NB: the last bytes that go into this sum hardly reach its high bits, which decide: names that differ in
	// their last digits would all go to one worker. So it is stirred once more.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// claimSurveyed reserves what is pending, or adopts the table first.
func (m *Master) claimSurveyed(at Moment, tr *track, ev Surveyed) {
	tv := m.view.Target(tr.target)
	if tv.Broken || !m.sees(at, tr, ev.Failure) {
		return // a record that came meanwhile can't be read: nothing is concluded from its absence
	}
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
	case standing == StandsUnadopted && tr.adopt != nil: // somebody has asked for it meanwhile
		return
	case standing == StandsUnadopted:
		tr.adopt = m.adoption(tr.target)
		m.adopting(at, tr, ev)
		return
	}
	if tv.Execution.Present() {
		return // things have moved meanwhile
	}
	m.reserve(at, tr, tv, ev.Table)
}

// reserve reserves the next share of what is pending for a worker that has room for it.
func (m *Master) reserve(at Moment, tr *track, tv *TargetView, table Table) {
	asked := tv.Demand.Value
	unmerged, _ := table.unmerged()
	idle := func(s ShardID) bool { return !slices.Contains(unmerged, s) }
	short := map[Endpoint]Bytes{}
	next, worker, reason := m.obstacle(at, tr, tv, asked.only(func(s ShardID) bool { return !idle(s) }), func(s share) need {
		if s.kind != "" {
			return atLeast(1)
		}
		e := tr.execution(at, tv, s)
		return func(w WorkerRecord, free Bytes) Bytes {
			take, _ := m.room(table, e, w, free)
			short[s.endpoint] = min(cmp.Or(short[s.endpoint], take), take)
			return take
		}
	})
	for _, e := range sortedKeys(short) {
		if reason != ReasonNone || e != next.endpoint {
			tr.lacks(at, e, short[e], m.limits(tr.target).Queue) // what it needs is known now: it is looked at again when somebody has that much
		}
	}
	if reason != ReasonNone {
		if served := asked.only(idle); len(served.Shards) > 0 {
			m.wait(tr, trackWriting, m.out.commit(PostDemand(tv.Demand, tr.target, asked.Take(served.Shards))))
			return
		}
		tr.because(at, reason)
		return
	}
	e := tr.execution(at, tv, next)
	writers := m.writers(at, tr, tv)
	for _, s := range asked.Shards { // what is merged already leaves the demand with the rest of its share
		if next.kind == "" && idle(s) && writerOf(writers, tr.target, s) == next.endpoint {
			e.Shards = append(e.Shards, s)
		}
	}
	e.Shards = e.Shards[:min(len(e.Shards), maxShards)]
	slices.Sort(e.Shards)
	e.Endpoint = worker.Value.Endpoint
	e.Bytes, e.Limit = m.room(table, e, worker.Value, m.roomOf(worker.Value, tr.target).Bytes)
	tr.spare = alarm{}
	for _, of := range []map[Endpoint]alarm{tr.busy, tr.yielding} {
		delete(of, next.endpoint)
	}
	delete(tr.short, next.endpoint)
	if guard.Out(guard.ExecutionIDReused) {
		e.ID = ExecutionID(tr.target)
	}
	tr.claim = e
	if next.rushed {
		tr.hasty = append(tr.hasty, hurry{e.ID, e.Number, e.Charge})
	}
	m.wait(tr, trackReserving, m.out.commit(Reserve(Judged{m.view, tr.target, worker}, e)))
}

// maxShards bounds what one execution takes, so that its record fits into a transaction three times. The rest
// stays in the demand.
const maxShards = 1024

// execution is what a share becomes, for whichever worker: the shards of one endpoint, on its budget.
func (tr *track) execution(at Moment, tv *TargetView, s share) Execution {
	t := tv.Table.Value
	shards := slices.Clone(tv.Failure(tr.target, s.endpoint).Value.Portion(s.due))
	if s.kind != "" {
		shards = nil
	}
	return Execution{
		ID: ExecutionID(at.Fresh), Number: t.LastExecution + 1, Target: tr.target, Kind: cmp.Or(s.kind, KindMerge), Phase: Reserved,
		Charge: s.endpoint, Shards: shards,
		Requested: tv.Demand.Value.First, Reserved: at.Wall, TableID: t.ID, Path: t.Path, Scheme: t.Scheme,
	}
}

// room is what an execution is going to take of the table on a worker with that much free, and what it takes
// there at most.
func (m *Master) room(t Table, e Execution, w WorkerRecord, free Bytes) (take, limit Bytes) {
	tv := m.view.Target(e.Target)
	pass := tv.Policy.peek().Pass(w.Pass)
	return room(t, e, pass.Within(tv.Failure(e.Target, e.Charge).Value.PassBytes).Within(free))
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
		tr.below, tr.pending = false, alarm{}
		tr.rushed[e.Charge] = true
		m.out.note(e, CodeOK, fmt.Sprintf("execution %d reserved for %s", e.Number, e.Endpoint))
		tr.watch = newWatch(at, e, m.limits(tr.target))
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
	tv := m.view.Target(tr.target)
	budget := tv.Failure(tr.target, m.blamed(at, tr, tv))
	m.wait(tr, trackWriting, m.out.commit(Charge(budget, f, at.Wall)))
}

// blamed is the endpoint whose budget a failure of the whole table goes to: the one whose turn it is, so that
// its success is what clears it.
func (m *Master) blamed(at Moment, tr *track, tv *TargetView) Endpoint {
	if shares := m.shares(at, tr, tv, tv.Demand.Value); len(shares) > 0 {
		return shares[0].endpoint
	}
	return Unowned
}

// say notes a failure: one line a reason, not one a try.
func (m *Master) say(tr *track, f Failure) {
	if f.Detail != tr.said {
		tr.said = f.Detail
		m.out.add(Note{Target: tr.target, Code: f.Code, Text: f.Detail})
	}
}
