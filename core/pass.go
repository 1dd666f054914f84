package core

import (
	"fmt"
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// PassLimits bound what one pass takes.
type PassLimits struct {
	Generations int   // at most this many SSTables; 0 means 64
	Size        Bytes // at most this much, by the sizes in the shard manifests; 0 means 1 GiB
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

// Pass is what one merge is going to take: for each shard, the oldest pending generations, contiguous
// from its mark.
type Pass struct {
	Plan   []ShardPlan
	Inputs []ShardInput
	Size   Bytes // what is known of it
}

// PlanPass takes the oldest pending generations of the given shards, round by round over the shards, so
// that no shard starves; whichever limit comes first ends it, and it takes one SSTable at least.
//
// A gap above the mark means that a generation is lost: that shard is left out, and the failure names
// it. Sizes that were not measured count as nothing towards the limit; they are never taken for zero
// anywhere else.
func PlanPass(t Table, shards []ShardID, limits PassLimits) (Pass, Failure) {
	limits = limits.withDefaults()
	type queue struct {
		shard ShardID
		mark  Generation
		left  []SSTable
		taken []SSTable
	}
	var queues []*queue
	var bad Failure
	for _, s := range t.Shards {
		if !slices.Contains(shards, s.Shard) {
			continue
		}
		pending, mark := t.Pending(s), t.Base.Marks.Of(s.Shard)
		run, gap := contiguous(mark, pending)
		if gap != 0 {
			bad = Failure{Code: CodeGenerationGap, Shard: s.Shard, Generation: gap,
				Detail: fmt.Sprintf("shard %s of %s has no generation %d, but newer ones: it was lost, or the base went back; nothing newer of this shard is merged", s.Shard, t.Target, gap)}
		}
		if len(run) > 0 {
			queues = append(queues, &queue{shard: s.Shard, mark: mark, left: run})
		}
	}
	var p Pass
	count := 0
	for full := false; !full; {
		full = true
		for _, q := range queues {
			if len(q.left) == 0 {
				continue
			}
			size := max(0, q.left[0].Size)
			if count > 0 && (count >= limits.Generations || p.Size+size > limits.Size) {
				q.left = nil
				continue
			}
			q.taken, q.left = append(q.taken, q.left[0]), q.left[1:]
			p.Size += size
			count++
			full = false
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
