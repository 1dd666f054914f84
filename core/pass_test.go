package core_test

import (
	"slices"
	"testing"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// slowPass plans a pass as one would by hand: again and again it looks at the next shard in turn, works out from the
// table alone which generation comes next there, and takes that if the pass has room. All sizes are known.
func slowPass(table core.Table, asked []core.ShardID, generations int, size core.Bytes, turn uint64) map[core.ShardID]core.Generation {
	next := func(s core.ShardManifest, taken core.Generation) *core.SSTable {
		for i := range s.SSTables {
			if s.SSTables[i].Generation == table.Base.Marks.Of(s.Shard)+taken+1 {
				return &s.SSTables[i]
			}
		}
		return nil
	}
	var shards []core.ShardManifest
	for _, s := range table.Shards {
		if slices.Contains(asked, s.Shard) && next(s, 0) != nil {
			shards = append(shards, s)
		}
	}
	taken, full, count, used := map[core.ShardID]core.Generation{}, map[core.ShardID]bool{}, 0, core.Bytes(0)
	for i, idle := int(turn), 0; len(shards) > 0 && idle < len(shards); i++ {
		s := shards[i%len(shards)]
		st := next(s, taken[s.Shard])
		if st == nil || full[s.Shard] {
			idle++
			continue
		}
		idle = 0
		if count > 0 && (count == generations || used+st.Size > size) {
			full[s.Shard] = true
			continue
		}
		taken[s.Shard]++
		count, used = count+1, used+st.Size
	}
	return taken
}

func TestAPassIsThatOfTheSlowPlanner(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := core.Table{Target: "events"}
		for _, id := range []core.ShardID{"s1", "s2", "s3"} {
			s := core.ShardManifest{Shard: id}
			table.Base.Marks = table.Base.Marks.With(id, core.Generation(rapid.IntRange(0, 3).Draw(t, "mark")))
			for g := core.Generation(1); g <= 7; g++ {
				if rapid.IntRange(0, 9).Draw(t, "there") > 0 {
					s.SSTables = append(s.SSTables, core.SSTable{Generation: g, Size: core.Bytes(rapid.IntRange(0, 9).Draw(t, "bytes"))})
				}
			}
			table.Shards = append(table.Shards, s)
		}
		asked := rapid.SliceOfN(rapid.SampledFrom([]core.ShardID{"s1", "s2", "s3"}), 0, 4).Draw(t, "asked")
		limits := core.PassLimits{Generations: rapid.IntRange(1, 9).Draw(t, "generations"), Size: core.Bytes(rapid.IntRange(1, 40).Draw(t, "size"))}
		turn := rapid.Uint64Range(0, 9).Draw(t, "turn")
		pass, _ := core.PlanPass(table, asked, limits.Turn(turn))
		want := slowPass(table, asked, limits.Generations, limits.Size, turn)
		if len(pass.Plan) != len(want) {
			t.Fatalf("planned %+v, slowly %v", pass.Plan, want)
		}
		for _, p := range pass.Plan {
			if got := p.Last - p.First + 1; got != want[p.Shard] {
				t.Fatalf("planned %+v, slowly %v", pass.Plan, want)
			}
		}
	})
}
