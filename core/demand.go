package core

import (
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// Demand is a durable, coalesced "this target has pending SSTables", or wants maintenance. There is one record a target:
// posts are merged into it, never stacked, and a post that adds nothing is not a write, so that idle
// posters can't keep a Reserve from winning (attack poster-storm).
type Demand struct {
	First WallMillis `json:"first_ms"` // when the oldest part was asked for
	Last  WallMillis `json:"last_ms"`
	// Shards are sorted. Turns say, for each of them, after which execution of the table it was asked for: the
	// lowest has waited longest, whatever the clocks of those who asked.
	Shards  []ShardID `json:"shards"`
	Turns   []uint64  `json:"turns,omitempty"`
	Reasons []string  `json:"reasons"`
	// Kinds are the maintenance that is asked for, sorted: see maintain.go.
	Kinds []Chore `json:"kinds,omitempty"`
}

// Empty reports whether nothing is asked for.
func (d Demand) Empty() bool { return len(d.Shards) == 0 && len(d.Kinds) == 0 }

// Turn is after which execution the shard was asked for.
func (d Demand) Turn(s ShardID) uint64 {
	if i, ok := slices.BinarySearch(d.Shards, s); ok && i < len(d.Turns) {
		return d.Turns[i]
	}
	return 0
}

// Add merges a post into the demand, made when the table's newest execution had number turn. changed is false
// when the post adds nothing.
func (d Demand) Add(at WallMillis, turn uint64, shards []ShardID, reason string) (out Demand, changed bool) {
	out = d.only(func(ShardID) bool { return true })
	for _, s := range shards {
		if i, ok := slices.BinarySearch(out.Shards, s); !ok {
			out.Shards, out.Turns = slices.Insert(out.Shards, i, s), slices.Insert(out.Turns, i, turn)
			changed = true
		}
	}
	if !changed {
		return d, false
	}
	return out.stamped(d, at, reason), true
}

// stamped is the demand after a post that has added something to what it was.
func (d Demand) stamped(was Demand, at WallMillis, reason string) Demand {
	if i, ok := slices.BinarySearch(d.Reasons, reason); !ok {
		d.Reasons = slices.Insert(d.Reasons, i, reason)
	}
	if was.Empty() || at < was.First {
		d.First = at
	}
	d.Last = max(was.Last, at)
	return d
}

// Take removes shards that an execution takes over. The rest keeps its time.
func (d Demand) Take(shards []ShardID) Demand {
	return d.only(func(s ShardID) bool { return !slices.Contains(shards, s) })
}

// only is the demand for some of its shards.
func (d Demand) only(keep func(ShardID) bool) Demand {
	out := d
	out.Shards, out.Turns, out.Reasons = []ShardID{}, []uint64{}, slices.Clone(d.Reasons)
	for _, s := range d.Shards {
		if keep(s) {
			out.Shards, out.Turns = append(out.Shards, s), append(out.Turns, d.Turn(s))
		}
	}
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
