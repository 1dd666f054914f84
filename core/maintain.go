package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Maintenance: executions that merge nothing. Compaction rewrites small fragments, index puts new fragments into the
// indexes, cleanup takes away what nobody needs any more (see cleanup.go). Each is an execution like a merge, with
// the same owner, gate, limits and fences, so that no commit of ours ever conflicts with another of ours. A table
// has them when somebody asks, or when its policy names them, and only while it is owned.
//
// Each kind has a budget and a turn of its own, under a name that no worker has. So a compaction that fails again
// and again keeps no merge waiting, and a table that is written all the time is compacted all the same.

// Chore is a kind of maintenance that is asked for.
type Chore struct {
	Kind Kind   `json:"kind"`
	Turn uint64 `json:"turn"` // after which execution of the table it was asked for
}

// maintenance are its kinds, in the order in which they serve each other: what is compacted is to be indexed, and
// what is indexed may be reclaimed.
var maintenance = []Kind{KindCompact, KindIndex, KindCleanup}

// Maintains reports whether executions of the kind merge nothing.
func (k Kind) Maintains() bool { return slices.Contains(maintenance, k) }

// endpoint is whose budget a kind of maintenance has: that of no worker.
func (k Kind) endpoint() Endpoint { return Endpoint("~" + string(k)) }

// chore is the kind of maintenance that has this budget; empty for the budget of a worker.
func (e Endpoint) chore() Kind {
	if k := Kind(strings.TrimPrefix(string(e), "~")); k.Maintains() && k.endpoint() == e {
		return k
	}
	return ""
}

// Able reports whether some live worker can do maintenance of this kind.
func (v *View) Able(k Kind) bool {
	return slices.ContainsFunc(v.Workers, func(w Seen[WorkerRecord]) bool { return slices.Contains(w.Value.Capabilities, k.capability()) })
}

// anything stands for the shards of an execution that has none.
var anything = []ShardID{""}

// Needs reports whether the table has any work for a kind of maintenance; left is what a cleanup has written down
// and not finished.
func (t Table) Needs(k Kind, left Reclaim) bool {
	switch k {
	case KindCompact:
		return t.Base.Small > 1
	case KindIndex:
		return t.Base.Uncovered > 0
	case KindCleanup:
		return len(left.SSTables) > 0 || slices.ContainsFunc(t.Shards, func(s ShardManifest) bool { return len(t.covered(s)) > 0 })
	}
	return false
}

// covered are the SSTables of a shard that its mark covers.
func (t Table) covered(s ShardManifest) []SSTable {
	return s.SSTables[:len(s.SSTables)-len(t.Pending(s))]
}

// Ask merges a request for maintenance into the demand; changed is false when it adds nothing.
func (d Demand) Ask(at WallMillis, turn uint64, k Kind, reason string) (out Demand, changed bool) {
	if d.asks(k) {
		return d, false
	}
	out = d.only(func(ShardID) bool { return true })
	i, _ := slices.BinarySearchFunc(out.Kinds, k, func(c Chore, k Kind) int { return cmp.Compare(c.Kind, k) })
	out.Kinds = slices.Insert(out.Kinds, i, Chore{k, turn})
	return out.stamped(d, at, reason), true
}

func (d Demand) asks(k Kind) bool {
	return slices.ContainsFunc(d.Kinds, func(c Chore) bool { return c.Kind == k })
}

// without takes out what an execution of this kind takes over.
func (d Demand) without(k Kind) Demand {
	d.Kinds = slices.DeleteFunc(slices.Clone(d.Kinds), func(c Chore) bool { return c.Kind == k })
	return d
}

// maintained judges an ended execution that merges nothing: it is done if it says so itself, which it can't after
// a commit that nobody knows the result of, or if the base shows that nothing of its work is left.
func (r Released) maintained() (done bool, f Failure) {
	end := Failure{}
	if r.Execution.End != nil {
		end = *r.Execution.End
	}
	nothingLeft := r.Table.Base.Version > 0 && !r.Table.Needs(r.Execution.Kind, r.Target.Reclaim.Value)
	if r.Execution.Started > 0 && (end.OK() || nothingLeft) {
		return true, Failure{}
	}
	if end.OK() {
		return false, Failure{Code: CodeEngineUnknown, Detail: "it never started, and reported no failure"}
	}
	return false, end
}

// again reports whether the next execution of this kind is asked for when this one is released: it was not done, or
// it has taken away as much as one takes at a time.
func (r Released) again(done bool) bool {
	return r.Execution.Kind.Maintains() && (!done || r.Execution.More) && !guard.Out(guard.MaintenanceGoesOn)
}

// maintenanceEvery is how often a policy asks for each kind that it names.
const maintenanceEvery = 10 * time.Minute

// upkeep adds to the demand what the policy asks for by itself: each kind that is due, if there is work for it.
func (m *Master) upkeep(at Moment, tr *track, tv *TargetView, t Table, d Demand) (Demand, bool) {
	changed := false
	for _, k := range maintenance {
		if tv.Execution.Value.Kind == k || d.asks(k) {
			tr.kept(k, at)
		}
		if !tr.due(at, k, tv) {
			continue
		}
		if m.worth(k, tv, t) {
			next, asked := d.Ask(at.Wall, tv.Table.Value.LastExecution, k, "policy")
			d, changed = next, changed || asked
		} else if len(t.Versions) == 0 {
			continue // it costs little to look again
		}
		tr.kept(k, at)
	}
	return d, changed
}

// due reports whether the policy names a kind, and this master has not seen it asked for or run for a while.
func (tr *track) due(at Moment, k Kind, tv *TargetView) bool {
	policy := tv.Policy.peek()
	if policy == nil || !slices.Contains(policy.Kinds, k) || tv.Execution.Value.Kind == k {
		return false
	}
	every, _ := policy.maintenance()
	last, seen := tr.maintained[k]
	return !seen || at.Mono.Since(last) >= every
}

// worth reports whether there is enough work for a kind. What a cleanup could take away only a deep survey shows.
func (m *Master) worth(k Kind, tv *TargetView, t Table) bool {
	if k == KindCleanup {
		left := tv.Reclaim.Value
		next, _ := reclaims(t, tv.Policy.peek().Graces(m.cfg.Graces), left)
		return len(next.SSTables) > 0
	}
	_, least := tv.Policy.peek().maintenance()
	return t.Needs(k, Reclaim{}) && (k != KindCompact || t.Base.Small >= least)
}

// kept notes that maintenance of this kind was seen.
func (tr *track) kept(k Kind, at Moment) {
	if tr.maintained == nil {
		tr.maintained = map[Kind]MonoTime{}
	}
	tr.maintained[k] = at.Mono
}

// idle reports whether there is nothing to do for a job that has looked at its table.
func (j *job) idle() bool {
	switch {
	case j.exec.Kind == KindCleanup:
		return false // what is left of an earlier one stands in a record that is read next
	case j.exec.Kind.Maintains():
		return !j.table.Needs(j.exec.Kind, Reclaim{})
	}
	return len(j.pass.Plan) == 0
}

// repeats starts the engine of an index execution a second time: a user's own compaction has come between what it
// read and its commit, which Lance lets nobody else mend. It waits until that version can be seen, so that the
// second try is made on it; any other failure, and a second conflict, is one.
func (w *Worker) repeats(at Moment, j *job, f Failure) bool {
	if j.exec.Kind != KindIndex || f.Code != CodeCommitConflict || j.end != nil || j.repeated || guard.Out(guard.IndexRepeatsOnce) {
		return false
	}
	j.repeated = true
	w.lookAgain(j)
	return true
}

func (w *Worker) lookAgain(j *job) { j.again = w.await(j, w.out.survey(j.exec.Target)) }

// seenAgain goes on once the base has moved.
func (w *Worker) seenAgain(at Moment, j *job, ev Surveyed) {
	j.again = 0
	if j.end != nil || j.step != jobRunning {
		return
	}
	if !ev.Failure.OK() || ev.Table.Base.Version <= max(j.table.Base.Version, j.attempt.Read) {
		j.retry = alarmAt(at.Mono.Add(retryEvery)) // the limit on no progress ends this
		return
	}
	j.table, j.engineUp, j.refusal = ev.Table, true, Verdict{}
	w.out.note(j.exec, CodeOK, "a commit of somebody else came between: the indexes are prepared once more")
	w.out.add(StartEngine{Execution: j.exec})
}
