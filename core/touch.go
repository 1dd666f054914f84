package core

import (
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// A budget belongs to an endpoint, and endpoints come and go: a worker that is restarted under another name, or
// that is gone, so that its shards are nobody's, would start every wait over (attack new-names). So a record
// says what it touches, which are the shards of its last failed pass. For those its wait counts whoever has
// them now, and the next failure of any of them continues the row of failures, under whatever name.

// concerns reports whether the record's wait is one for this shard of an endpoint: all of its own endpoint, and
// elsewhere what it touches. A record that touches nothing by name is about the whole table.
func (r FailureRecord) concerns(e Endpoint, s ShardID) bool {
	switch {
	case r.Endpoint == e:
		return true
	case r.Endpoint.chore() != "" && !guard.Out(guard.MaintenanceFailsAlone):
		return false // merges find by themselves what is wrong with the table
	case len(r.Touched) == 0:
		return true
	}
	return r.touches(s) && !guard.Out(guard.NewNamesKeepWait)
}

func (r FailureRecord) touches(s ShardID) bool {
	return slices.ContainsFunc(r.Touched, func(p ShardPlan) bool { return p.Shard == s })
}

// following is the budget before it is charged with a failure of e: it touches what e took, and goes on with
// the longest row of failures of that. What has been merged since, by anybody, is in no row any more.
func (r FailureRecord) following(e Execution, f Failure, t Table, others []Seen[FailureRecord]) FailureRecord {
	if r.Touched = nil; !f.ofTable() {
		r.Touched = e.touched(t)
	}
	for _, o := range others {
		still := slices.ContainsFunc(r.Touched, func(p ShardPlan) bool {
			return slices.ContainsFunc(o.Value.Touched, func(was ShardPlan) bool {
				// Where nobody could see what was pending, nobody can see later whether it was merged. So such a
				// failure goes on only in another one like it: else that of a worker which is gone for good
				// would lengthen every wait of the shard for ever.
				seen := was.Last > 0 && t.Base.Marks.Of(p.Shard) < was.Last
				return was.Shard == p.Shard && (seen || was.Last == 0 && p.Last == 0)
			})
		})
		if still && !guard.Out(guard.NewNamesKeepWait) {
			r.Streak = max(r.streak(), o.Value.streak())
		}
	}
	return r
}

// whole is the budget before it is charged with a failure of the whole table.
func (r FailureRecord) whole() FailureRecord {
	r.Touched = nil
	return r
}

// streak is never less than the attempts of the endpoint itself.
func (r FailureRecord) streak() int { return max(r.Streak, r.Attempts) }

// touched is what a failed execution had to do with: its plan, or if it made none, the first that is pending
// of its shards, as far as anybody could see. Last is 0 where nobody could.
func (e Execution) touched(t Table) []ShardPlan {
	if len(e.Plan) > 0 {
		return slices.Clone(e.Plan)
	}
	var out []ShardPlan
	for _, s := range e.Shards {
		p := ShardPlan{Shard: s}
		if t.Base.Version > 0 {
			p.First = t.Base.Marks.Of(s) + 1
			p.Last = p.First
		}
		out = append(out, p)
	}
	return out
}

// ofTable reports whether a failure is the table's own, whoever looks at it: no other worker and no other
// shards fare better.
func (f Failure) ofTable() bool {
	switch f.Code {
	case CodeTableFormat, CodeTableMissing, CodeNoMemWAL, CodeNoPrimaryKey:
		return true
	}
	return contradicts(f)
}

// unseen reports whether a failure says only that somebody could not look: that is no attempt of anybody, and
// says nothing of the table.
func (f Failure) unseen() bool {
	return (f.Code == CodeStorage || f.Code == CodeAuth || f.Code == CodeKV) && !guard.Out(guard.BlindMasterChargesNobody)
}

// passedBy reports whether the shards that this endpoint writes go to others, by a reader that first saw the
// record `seen` ago.
//
// A writer comes before others for its own shards, but one that lives and gets nothing done must not keep them
// unmerged (invariant 8). Two failures in a row are enough, one reservation that it did not start, or one
// failure that waiting does not mend; not those of the data, which fail anywhere. It is tried again once the
// others have had an hour with its shards, and after that a single failure is enough.
func (r FailureRecord) passedBy(seen time.Duration) bool {
	if seen >= time.Duration(r.Delay)*time.Millisecond+shunFor || guard.Out(guard.FailedWritersArePassedBy) {
		return false
	}
	switch {
	case r.Queued > 0:
		return true
	case r.Class == Config || r.Class == Auth:
		return r.Attempts > 0 && !Failure{Code: r.Code}.ofTable()
	}
	return r.Class == Transient && r.Attempts > 1
}
