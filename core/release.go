package core

import (
	"cmp"
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// Released is everything that Release decides from.
type Released struct {
	Execution Execution
	// Table is what the base says now: its marks, not the reporter, decide the outcome.
	Table Table
	// Target holds the records that Release reads and compares.
	Target *TargetView
	At     WallMillis
	By     Instance
}

// Outcome judges an ended execution by the base: marks at or above what the pass planned are a success,
// whatever anybody reported.
func (r Released) Outcome() (merged bool, f Failure) {
	e := r.Execution
	if e.Kind.Maintains() {
		return r.maintained()
	}
	reached := e.Started > 0
	for _, p := range e.Plan {
		if r.Table.Base.Marks.Of(p.Shard) < p.Last {
			reached = false
		}
	}
	end := Failure{}
	if e.End != nil {
		end = *e.End
	}
	if guard.Out(guard.MarksDecide) {
		reached = end.OK()
	}
	switch {
	case reached && (len(e.Plan) > 0 || end.OK()):
		return true, Failure{}
	case end.OK():
		return false, Failure{Code: CodeEngineUnknown, Detail: "the engine reported success, but the base's marks don't show it"}
	}
	return false, end
}

// Release gives the table back, in one transaction: ownership, execution and watermarks go; the budget
// is cleared or charged; shards that were not finished return to the demand with their old time; what
// happened is written down. A Release whose answer is lost can't charge twice: the second finds the
// execution gone (attack release-unknown).
func Release(r Released) Txn {
	e, tv := r.Execution, r.Target
	assert(e.Phase == Finished || e.Phase == Recovered, "release %s of %s in phase %s", e.ID, e.Target, e.Phase)
	merged, failure := r.Outcome()
	failure = e.blamed(failure)
	budget := tv.Failure(e.Target, e.Charge)
	was := budget.Value.begun(e)
	table := tv.Table.Value
	table.LastSeen = max(table.LastSeen, r.Table.Base.Version)
	ops := []Op{
		Delete(OwnerKey(e.Target)), Delete(ExecutionKey(e.Target)),
		Delete(AdmittedKey(e.Target)), Delete(ProgressKey(e.Target)),
		Put(TableKey(e.Target), Encode(table)),
	}
	if !guard.Out(guard.DeletesGoWithTheirExecution) {
		// None of a definite end is on its way, and those of a recovery were waited for. Left behind, the record
		// would have each later recovery wait for them again.
		ops = append(ops, Delete(DeletesKey(e.Target)))
	}
	after := was
	switch {
	case merged:
		var gone bool
		after, gone = was.Learned(e, r.Table.Base.Marks).Cleared(e.shards())
		if e.End != nil && e.blamed(*e.End).Shard != "" && !slices.Contains(e.shards(), e.End.Shard) {
			// The pass is done, and it had to leave a bad shard out.
			after.Target, after.Endpoint = e.Target, e.Charge
			after, gone = after.following(e, *e.End, r.Table, tv.Failures).Charged(*e.End, r.At), false
		}
		switch {
		case gone:
			ops = append(ops, Delete(budget.Key))
		case Encode(after) != Encode(budget.Value): // a write starts the wait anew
			ops = append(ops, Put(budget.Key, Encode(after)))
		}
	case failure.Code.Charged() && !guard.Out(guard.ReleaseCharges):
		after = was.following(e, failure, r.Table, tv.Failures).Charged(failure, r.At).Suspecting(e, failure)
		ops = append(ops, Put(budget.Key, Encode(after)))
	case failure.Code == CodeQueueLimit && !guard.Out(guard.QueueLimitBacksOff):
		ops = append(ops, Put(budget.Key, Encode(was.following(e, failure, r.Table, nil).Queueing(failure, r.At))))
	}
	conds := append(owned(e), budget.Unchanged(), tv.Table.Unchanged())
	if e.demanded() {
		demand := tv.Demand.Value
		if back := r.unfinished(after); len(back) > 0 && !guard.Out(guard.ReleaseLosesDemand) {
			// They have had their turn: whoever has waited meanwhile comes before them.
			demand, _ = demand.Add(cmp.Or(e.Requested, r.At), e.Number, back, "unfinished")
		}
		if r.again(merged) {
			demand, _ = demand.Ask(cmp.Or(e.Requested, r.At), e.Number, e.Kind, "unfinished")
		}
		conds = append(conds, unless(guard.ReleaseIgnoresDemand, []Cond{tv.Demand.Unchanged()})...)
		ops = append(ops, demand.op(e.Target))
	}
	counters := Counters{}
	if tv.Progress.Present() && tv.Progress.Value.Execution == e.ID {
		counters = tv.Progress.Value.Counters
	}
	ops = append(ops, historyOps(e, History{
		Execution: e, Merged: merged, Failure: failure, Base: r.Table.Base.Version, Counters: counters, Released: r.At,
	})...)
	if e.Phase == Recovered {
		why := failure
		if e.End != nil {
			why = *e.End // also of a recovery that found the work done
		}
		ops = append(ops, takeoverOps(e, why, r)...)
	}
	return Txn{Name: "release", If: unless(guard.ReleaseComparesNothing, conds), Then: ops}
}

// blamed is a failure that names only shards which the execution has to do with. A report that names
// another one says nothing of that one, which may be somebody else's.
func (e Execution) blamed(f Failure) Failure {
	if f.Shard != "" && !slices.Contains(e.Shards, f.Shard) {
		f.Shard, f.Generation, f.Other = "", 0, ""
	}
	if f.Other != "" && !slices.Contains(e.Shards, f.Other) {
		f.Other = ""
	}
	return f
}

// unfinished are the shards that still have something to merge: those of the execution, and on a table
// that shows more pending, all of that.
func (r Released) unfinished(budget FailureRecord) []ShardID {
	if r.Execution.Kind.Maintains() {
		return nil
	}
	out, _ := r.Table.unmerged()
	if r.Table.Base.Version == 0 { // the table could not be read: nothing is known to be finished
		out = slices.Clone(r.Execution.Shards)
	}
	return out
}

func historyOps(e Execution, h History) []Op {
	ops := []Op{Put(HistoryKey(e.Target, e.Number), Encode(h))}
	if e.Number > KeptHistory {
		all := HistoryRange(e.Target)
		ops = append(ops, DeleteAll(Range{all.Key, HistoryKey(e.Target, e.Number-KeptHistory+1)}))
	}
	return ops
}

func takeoverOps(e Execution, why Failure, r Released) []Op {
	ops := []Op{Put(TakeoverKey(e.Target, e.Number), Encode(Takeover{
		Execution: e.ID, Endpoint: e.Endpoint, Reason: why, Fenced: e.Fenced,
		Frozen: e.Frozen, Released: r.At, Barrier: max(0, r.At-e.Frozen), By: r.By,
	}))}
	if e.Number > KeptHistory {
		all := TakeoverRange(e.Target)
		ops = append(ops, DeleteAll(Range{all.Key, TakeoverKey(e.Target, e.Number-KeptHistory+1)}))
	}
	return ops
}

// shards are the shards that the execution planned.
func (e Execution) shards() []ShardID {
	out := make([]ShardID, 0, len(e.Plan))
	for _, p := range e.Plan {
		out = append(out, p.Shard)
	}
	return out
}
