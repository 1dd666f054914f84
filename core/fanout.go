package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Fan-out: a target's demand is shared out among endpoints, and they have their turns one after the other,
// since a target has one owner at a time. What a live worker writes goes to that worker and to its budget; what
// no live worker writes goes to whichever has room, and to the budget of ~unowned.
//
// A writer keeps its shards only while it serves. They go to anyone when it is gone, when it takes nothing new,
// when its lake is unsafe or its mode unclear, when it fails again and again (see passedBy), and when it was
// found without room for as long as a reservation may wait.

// share is what one endpoint has of a target's demand.
type share struct {
	endpoint Endpoint
	kind     Kind      // of maintenance; empty is a merge
	shards   []ShardID // sorted
	due      []ShardID // those that may be tried now
	next     alarm     // when more of them may
	waits    bool      // a failure is waited for, and not only bad shards by themselves
	turn     uint64    // the execution after which the oldest of them was asked for
	attempts int       // that failed in a row; 0 is healthy
	rushed   bool      // a person wants it tried, whatever it waits for
	yields   bool      // it failed, and lets the healthy ones go first
	reason   Reason    // why it is not taken, if it was not
}

// inOrder sorts shares by whose turn it is: healthy endpoints before failed ones, so that a bad one costs the
// others nothing; of the failed ones those with fewer attempts first, and of the healthy ones who was asked
// for longest ago. A failed endpoint that has been due for long enough yields no more: it has its turn like the
// healthy ones, or a table that is written all the time would never come back to it.
func inOrder(shares []share) {
	slices.SortStableFunc(shares, func(a, b share) int {
		failed := func(s share) int {
			if s.yields && !guard.Out(guard.HealthyEndpointsFirst) {
				return s.attempts
			}
			return 0
		}
		if c := cmp.Compare(failed(a), failed(b)); c != 0 {
			return c
		}
		if c := cmp.Compare(a.turn, b.turn); c != 0 {
			return c
		}
		return strings.Compare(string(a.endpoint), string(b.endpoint)) // "~unowned" comes last
	})
}

// shares shares out the demand as it is now, in order.
func (m *Master) shares(at Moment, tr *track, tv *TargetView, asked Demand) []share {
	if asked.Empty() {
		clear(tr.busy)
		clear(tr.yielding)
		return nil
	}
	var out []share
	writers := m.writers(at, tr, tv)
	for _, s := range asked.Shards {
		e := writerOf(writers, tr.target, s)
		i := slices.IndexFunc(out, func(sh share) bool { return sh.endpoint == e })
		if i < 0 {
			i = len(out)
			out = append(out, share{endpoint: e, turn: asked.Turn(s), attempts: tv.Failure(tr.target, e).Value.Attempts})
		}
		out[i].shards = append(out[i].shards, s)
		out[i].turn = min(out[i].turn, asked.Turn(s))
	}
	for _, c := range asked.Kinds {
		e := c.Kind.endpoint()
		f := tv.Failure(tr.target, e).Value
		// Nobody starts it: that is no failure of the table, but merges must not wait for it again and again.
		out = append(out, share{endpoint: e, kind: c.Kind, shards: anything, turn: c.Turn, attempts: f.Attempts + f.Queued})
	}
	for i := range out {
		sh := &out[i]
		sh.due, sh.next = tr.sights.due(at, tv.Failures, sh.endpoint, sh.shards)
		sh.waits = tr.sights.waits(at, tv.Failures, sh.endpoint, sh.shards)
		if sh.rushed = tr.now && len(sh.due) < len(sh.shards) && !tr.rushed[sh.endpoint]; sh.rushed {
			sh.due, sh.next = sh.shards, alarm{}
		}
		switch {
		case len(sh.due) > 0:
		case sh.waits:
			sh.reason = ReasonBackoff
		default:
			sh.reason = ReasonBadShard
		}
		sh.yields = tr.yields(at, *sh, m.limits(tr.target).Queue)
		tr.watch.due = earliest(tr.watch.due, sh.next)
	}
	inOrder(out)
	return out
}

// yields reports whether an endpoint that failed lets the healthy ones go first: for as long as a reservation
// may wait, from when it was first seen to be due.
func (tr *track) yields(at Moment, s share, queue time.Duration) bool {
	if s.attempts == 0 || len(s.due) == 0 {
		delete(tr.yielding, s.endpoint)
		return s.attempts > 0
	}
	if !tr.yielding[s.endpoint].Set {
		tr.yielding[s.endpoint] = alarmAt(at.Mono.Add(queue))
	}
	return !tr.yielding[s.endpoint].due(at.Mono)
}

// writers are the live workers that write shards of a target and serve them, those with most weight first.
func (m *Master) writers(at Moment, tr *track, tv *TargetView) []Seen[WorkerRecord] {
	var out []Seen[WorkerRecord]
	for i := range m.view.Workers {
		if w := &m.view.Workers[i]; w.Value.writes(tr.target) && m.serves(at, tr, tv, *w) {
			out = append(out, *w)
		}
	}
	slices.SortStableFunc(out, func(a, b Seen[WorkerRecord]) int {
		return cmp.Compare(weight(tr.target, b.Value.Endpoint), weight(tr.target, a.Value.Endpoint))
	})
	return out
}

// serves reports whether a writer is to have the shards that it writes.
func (m *Master) serves(at Moment, tr *track, tv *TargetView, w Seen[WorkerRecord]) bool {
	e := w.Value.Endpoint
	failure := tv.Failure(tr.target, e)
	mode, unclear := EffectiveMode(voices(m.view, tr.target, w))
	switch {
	case guard.Out(guard.WritersFirst):
		return false
	case mode != Owned || unclear != ReasonNone || w.Value.Unsafe != "":
		return false
	case !m.roomOf(w.Value, tr.target).Accepting && !guard.Out(guard.DrainedWritersArePassedBy):
		return false
	case failure.Value.passedBy(tr.sights.seen(at, failure)):
		return false
	}
	// One without room is waited for from when it was first found so, until it has had a turn.
	lacks := full(m.hasRoom(at, w.Value, tr.target, atLeast(tr.short[e].need)))
	return !lacks || !tr.busy[e].due(at.Mono) || guard.Out(guard.BusyWritersArePassedBy)
}

// writerOf is the endpoint that a shard goes to: the writer that names it, or one that writes the whole table.
func writerOf(writers []Seen[WorkerRecord], t Target, s ShardID) Endpoint {
	whole := Unowned
	for _, w := range writers {
		for _, written := range w.Value.Writes {
			switch {
			case written.Target != t:
			case slices.Contains(written.Shards, s):
				return w.Value.Endpoint
			case len(written.Shards) == 0 && whole == Unowned:
				whole = w.Value.Endpoint
			}
		}
	}
	return whole
}

// writes reports whether the worker writes some of the target's shards.
func (w *WorkerRecord) writes(t Target) bool {
	return slices.ContainsFunc(w.Writes, func(written Written) bool { return written.Target == t })
}

// choose is the first share that can be taken now, and the worker for it; a reason says that there is none.
// What each of the others waits for is noted in it, so that who failed is seen beside those that go on.
func (m *Master) choose(at Moment, tr *track, shares []share, wants func(share) need) (int, Seen[WorkerRecord], Reason) {
	reason, waiting := ReasonNoWorker, false
	for i := range shares {
		s := &shares[i]
		if len(s.due) == 0 {
			continue
		}
		if s.yields && waiting && !guard.Out(guard.HealthyEndpointsFirst) {
			// A healthy one waits for room, and may have it in a moment; a bad one would keep the table from it
			// for as long as it likes.
			tr.watch.due = earliest(tr.watch.due, tr.yielding[s.endpoint])
			continue
		}
		worker, why := m.workerFor(at, tr, *s, wants(*s))
		if s.reason = why; why == ReasonNone {
			return i, worker, ReasonNone
		}
		reason = nearest(reason, why)
		waiting = waiting || full(why) && !s.yields
	}
	return -1, Seen[WorkerRecord]{}, reason
}

// workerFor is the worker that can take a share now.
func (m *Master) workerFor(at Moment, tr *track, s share, wants need) (Seen[WorkerRecord], Reason) {
	if s.endpoint == Unowned || s.kind != "" {
		return m.pick(at, tr.target, s.kind, wants)
	}
	worker := ownWorker(m.view, s.endpoint)
	why := m.hasRoom(at, worker.Value, tr.target, wants)
	if full(why) {
		if !tr.busy[s.endpoint].Set {
			tr.busy[s.endpoint] = alarmAt(at.Mono.Add(m.limits(tr.target).Queue))
		}
		if !tr.busy[s.endpoint].due(at.Mono) {
			tr.watch.due = earliest(tr.watch.due, tr.busy[s.endpoint])
		}
	}
	return worker, why
}

// full reports whether a worker lacks room and nothing else.
func full(r Reason) bool { return r == ReasonNoSlot || r == ReasonNoBytes }
