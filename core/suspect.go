package core

import (
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// What a failure teaches about the next pass. A failure that names its shard is about that shard. One that
// names nothing may still be the fault of one shard among many, and then every pass with it fails: the
// shards of the failed pass are suspects, and are tried by halves until one of them stands alone. An
// engine that ran out of memory is about how much it took: the next pass takes half.

// suspicious reports whether a failure with this code may be the fault of what the pass took, though
// nothing says of which part. The storage, the KV and the fleet have failures of their own.
func (f Failure) suspicious() bool {
	if f.Shard != "" {
		return false
	}
	switch f.Code {
	case CodeEngineUnknown, CodeEngineKilled, CodeNoProgress, CodeTimeLimit:
		return true
	}
	return f.Code.Class() == Data
}

// Suspecting is the budget, charged with f already, with what the failure of e teaches about the next pass.
func (r FailureRecord) Suspecting(e Execution, f Failure) FailureRecord {
	if f.Code == CodeEngineOOM && e.generations() > 1 && !guard.Out(guard.MemoryIsRemembered) {
		r.PassBytes = max(1, e.Bytes/2)
	}
	if !f.suspicious() || len(e.Plan) == 0 || guard.Out(guard.FailedPassIsHalved) {
		return r
	}
	switch {
	case len(e.Plan) > 1:
		r.Suspects, r.Split = slices.Clone(e.Plan), r.Split+1
	case r.Split > 0 || r.alone(e.Plan[0].Shard) != nil || len(e.Shards) > 1 && !guard.Out(guard.OneOfManyIsSuspected):
		// It stood alone, be it that the limits of a pass have left no more room. The others must not wait for it.
		r = r.isolated(e.Plan[0], f)
	}
	return r
}

// generations counts what the execution planned. One that took a single SSTable can't take less.
func (e Execution) generations() (n int) {
	for _, p := range e.Plan {
		n += int(p.Last - p.First + 1)
	}
	return n
}

// isolated makes the one shard that failed by itself wait by itself; the others are due at once.
func (r FailureRecord) isolated(p ShardPlan, f Failure) FailureRecord {
	b := BadShard{Shard: p.Shard, Generation: p.First, Code: f.Code, Detail: truncate(f.Detail, 256), Alone: true, Attempts: 1, Last: r.Last}
	if was := r.alone(p.Shard); was != nil {
		b.Attempts += was.Attempts
	}
	delay, attention := retryDelay(f.Code.Class(), b.Attempts)
	b.Delay, r.Attention = delay.Milliseconds(), r.Attention || attention
	r.BadShards = addBad(r.BadShards, b)
	r.Delay = 0
	r.Next = r.Last + WallMillis(b.Delay)
	return r.cleared(func(s ShardPlan) bool { return s.Shard == p.Shard })
}

func (r FailureRecord) alone(s ShardID) *BadShard {
	for _, b := range r.BadShards {
		if b.Shard == s && b.Alone {
			return &b
		}
	}
	return nil
}

// cleared takes suspects out.
func (r FailureRecord) cleared(of func(ShardPlan) bool) FailureRecord {
	r.Suspects = slices.DeleteFunc(slices.Clone(r.Suspects), of)
	if len(r.Suspects) == 0 {
		r.Suspects, r.Split = nil, 0
	}
	return r
}

// Learned is the budget after a success of e: what the marks show as merged is suspected no more, and what
// may be taken at once doubles, until it is what the worker takes anyway.
func (r FailureRecord) Learned(e Execution, marks Marks) FailureRecord {
	r = r.cleared(func(s ShardPlan) bool { return marks.Of(s.Shard) >= s.Last })
	if r.PassBytes *= 2; r.PassBytes >= e.Limit {
		r.PassBytes = 0
	}
	return r
}

// Portion is what the next pass takes of the shards that are due: a shard that was found to fail alone is
// tried alone; suspects are tried by halves, without others, so that a second failure tells something.
func (r FailureRecord) Portion(due []ShardID) []ShardID {
	for _, b := range r.BadShards {
		if b.Alone && slices.Contains(due, b.Shard) {
			return []ShardID{b.Shard}
		}
	}
	var suspects []ShardID
	for _, s := range r.Suspects {
		if slices.Contains(due, s.Shard) {
			suspects = append(suspects, s.Shard)
		}
	}
	if len(suspects) == 0 {
		return due
	}
	return suspects[:(len(suspects)+1)/2]
}
