package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// PassLimits bound what one pass takes.
type PassLimits struct {
	Generations int   `json:"generations"` // at most this many SSTables; 0 means 64
	Size        Bytes `json:"bytes"`       // at most this much, by the sizes in the shard manifests; 0 means 1 GiB
	// Largest is the largest SSTable that is taken at all; 0 means that each is. One that is larger than a
	// whole pass is taken alone.
	Largest Bytes `json:"largest_bytes,omitempty"`

	budget Bytes  // less than Size when a pass ran out of memory, or when its worker has not more room
	turn   uint64 // which shard comes first
}

func (l PassLimits) withDefaults() PassLimits {
	if l.Generations == 0 {
		l.Generations = 64
	}
	if l.Size == 0 {
		l.Size = 1 << 30
	}
	return l
}

// Within are the limits of a pass that takes b at most; 0 means no further bound.
func (l PassLimits) Within(b Bytes) PassLimits {
	if b > 0 && (l.budget == 0 || b < l.budget) {
		l.budget = b
	}
	return l
}

// Turn are the limits of execution number n. Each starts with another shard, so that an SSTable that fits
// into no pass but its own gets one, however busy the other shards are.
func (l PassLimits) Turn(n uint64) PassLimits {
	l.turn = n
	return l
}

// Measure is what an SSTable counts for. An SSTable whose writer recorded no size counts as an equal share
// of a pass: never as nothing, and a pass of such alone is bounded by their number.
func (l PassLimits) Measure(s SSTable) Bytes {
	l = l.withDefaults()
	if s.Size < 0 {
		return max(1, l.Size/Bytes(l.Generations))
	}
	return s.Size
}

// Pass is what one merge is going to take: for each shard, the oldest pending generations, contiguous
// from its mark.
type Pass struct {
	Plan   []ShardPlan
	Inputs []ShardInput
	Size   Bytes // what it counts for, see [PassLimits.Measure]
}

// shardQueue are the SSTables of one shard that a pass may take.
type shardQueue struct {
	shard ShardID
	mark  Generation
	left  []SSTable
	taken []SSTable
}

// PlanPass takes the oldest pending generations of the given shards, round by round over the shards, so
// that no shard starves; whichever limit comes first ends it, and it takes one SSTable at least.
//
// A gap above the mark means that a generation is lost, and an SSTable may be larger than what is taken at
// all: that shard is left out from there on, and the failure names it (attacks one-bad-shard, oversized).
func PlanPass(t Table, shards []ShardID, limits PassLimits) (Pass, Failure) {
	limits = limits.withDefaults()
	queues, bad := queuesOf(t, shards, limits)
	full := min(limits.Size, cmp.Or(limits.budget, limits.Size))
	var p Pass
	if len(queues) > 0 {
		first := int(limits.turn % uint64(len(queues)))
		count := 0
		for _, q := range inTurn(queues, first) {
			size := limits.Measure(q.left[0])
			if count > 0 && (count >= limits.Generations || p.Size+size > full) {
				q.left = nil
				continue
			}
			q.taken, q.left = append(q.taken, q.left[0]), q.left[1:]
			p.Size += size
			count++
		}
	}
	for _, q := range queues {
		if len(q.taken) == 0 {
			continue
		}
		p.Plan = append(p.Plan, ShardPlan{q.shard, q.taken[0].Generation, q.taken[len(q.taken)-1].Generation})
		p.Inputs = append(p.Inputs, ShardInput{q.shard, q.mark, q.taken})
	}
	return p, bad
}

// inTurn goes round by round over the queues that have something left, starting with one of them.
func inTurn(queues []*shardQueue, first int) func(yield func(int, *shardQueue) bool) {
	return func(yield func(int, *shardQueue) bool) {
		for more := true; more; {
			more = false
			for i := range queues {
				q := queues[(first+i)%len(queues)]
				if len(q.left) == 0 {
					continue
				}
				if more = true; !yield(i, q) {
					return
				}
			}
		}
	}
}

// queuesOf are the SSTables that may be taken, by shard, and what stands in the way of others.
func queuesOf(t Table, shards []ShardID, limits PassLimits) (queues []*shardQueue, bad Failure) {
	for _, s := range t.Shards {
		if !slices.Contains(shards, s.Shard) {
			continue
		}
		if s.Torn != "" {
			bad = Failure{Code: CodeManifestCorrupt, Shard: s.Shard, Detail: s.Torn}
			continue
		}
		mark := t.Base.Marks.Of(s.Shard)
		run, gap := contiguous(mark, t.Pending(s))
		if gap != 0 {
			bad = Failure{Code: CodeGenerationGap, Shard: s.Shard, Generation: gap,
				Detail: fmt.Sprintf("shard %s of %s has no generation %d, but newer ones: it was lost, or the base went back; nothing newer of this shard is merged", s.Shard, t.Target, gap)}
		}
		if i := slices.IndexFunc(run, limits.tooLarge); i >= 0 {
			bad = Failure{Code: CodeTooLarge, Shard: s.Shard, Generation: run[i].Generation,
				Detail: fmt.Sprintf("generation %d of shard %s of %s has %d bytes, and no more than %d are taken: raise the limit of the largest SSTable on a worker with the memory for it; nothing newer of this shard is merged", run[i].Generation, s.Shard, t.Target, run[i].Size, limits.Largest)}
			run = run[:i]
		}
		if len(run) > 0 {
			queues = append(queues, &shardQueue{shard: s.Shard, mark: mark, left: run})
		}
	}
	return queues, bad
}

func (l PassLimits) tooLarge(s SSTable) bool {
	return l.Largest > 0 && s.Size > l.Largest && !guard.Out(guard.TooLargeIsLeftOut)
}

// contiguous is the run of SSTables that follow the mark without a gap; gap is the first generation
// that is missing before a newer one.
func contiguous(mark Generation, pending []SSTable) (run []SSTable, gap Generation) {
	next := mark + 1
	for i, s := range pending {
		if s.Generation != next && !guard.Out(guard.NoGenerationGap) {
			return pending[:i], next
		}
		next++
	}
	return pending, 0
}
