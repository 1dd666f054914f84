package core

import (
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// Demand is a durable, coalesced "this target has pending SSTables". There is one record a target:
// posts are merged into it, never stacked, and a post that adds nothing is not a write, so that idle
// posters can't keep a Reserve from winning (attack poster-storm).
type Demand struct {
	First WallMillis `json:"first_ms"` // when the oldest part was asked for
	Last  WallMillis `json:"last_ms"`
	// Shards are sorted.
	Shards  []ShardID `json:"shards"`
	Reasons []string  `json:"reasons"`
}

// Empty reports whether nothing is asked for.
func (d Demand) Empty() bool { return len(d.Shards) == 0 }

// Add merges a post into the demand. changed is false when the post adds nothing.
func (d Demand) Add(at WallMillis, shards []ShardID, reason string) (out Demand, changed bool) {
	out = Demand{First: d.First, Last: d.Last, Shards: slices.Clone(d.Shards), Reasons: slices.Clone(d.Reasons)}
	for _, s := range shards {
		if i, ok := slices.BinarySearch(out.Shards, s); !ok {
			out.Shards = slices.Insert(out.Shards, i, s)
			changed = true
		}
	}
	if !changed {
		return d, false
	}
	if i, ok := slices.BinarySearch(out.Reasons, reason); !ok {
		out.Reasons = slices.Insert(out.Reasons, i, reason)
	}
	if d.Empty() || at < d.First {
		out.First = at
	}
	out.Last = max(d.Last, at)
	return out, true
}

// Take removes shards that an execution takes over. The rest keeps its time.
func (d Demand) Take(shards []ShardID) Demand {
	out := d
	out.Shards = slices.DeleteFunc(slices.Clone(d.Shards), func(s ShardID) bool { return slices.Contains(shards, s) })
	return out
}

// op is the write that stores the demand: a put, or a delete when nothing is left.
func (d Demand) op(t Target) Op {
	if d.Empty() {
		return Delete(DemandKey(t))
	}
	return Put(DemandKey(t), Encode(d))
}

// PostDemand merges a post into the demand.
func PostDemand(seen Seen[Demand], t Target, d Demand) Txn {
	txn := Txn{Name: "post-demand", If: unless(guard.PostIgnoresDemand, []Cond{seen.Unchanged()}), Then: []Op{d.op(t)}}
	if guard.Out(guard.PostClearsBudget) {
		txn.Then = append(txn.Then, Delete(FailureKey(t, Unowned)))
	}
	return txn
}
