package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// Invariant 8, for the budget alone: whatever shards make passes die without a word, the others are all
// merged after a bounded number of passes, and the bad ones end up waiting by themselves.
func TestPassesThatDieWithoutAWordAreHalvedUntilTheBadShardsStandAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var left []core.ShardID
		chokes := map[core.ShardID]bool{}
		bad := 0
		for i := range rapid.IntRange(1, 12).Draw(t, "shards") {
			s := core.ShardID(fmt.Sprintf("s%02d", i))
			left = append(left, s)
			if chokes[s] = rapid.IntRange(0, 4).Draw(t, "bad") == 0; chokes[s] {
				bad++
			}
		}
		good := len(left) - bad
		var r core.FailureRecord
		var marks core.Marks
		for pass := 0; good > 0; pass++ {
			if pass > 12*(bad+1)*2 {
				t.Fatalf("after %d passes %d good shards are left: %v, budget %+v", pass, good, left, r)
			}
			due := r.Portion(slices.DeleteFunc(slices.Clone(left), r.Bad))
			if len(due) == 0 {
				t.Fatalf("nothing is due of %v: %+v", left, r)
			}
			e := core.Execution{Limit: 100, Bytes: 50}
			dies := false
			for _, s := range due {
				e.Plan = append(e.Plan, core.ShardPlan{Shard: s, First: 1, Last: 1})
				dies = dies || chokes[s]
			}
			f := core.Failure{Code: core.CodeEngineKilled}
			if dies {
				r = r.Charged(f, 7).Suspecting(e, f)
				continue
			}
			for _, s := range due {
				marks = marks.With(s, 1)
			}
			good -= len(due)
			left = slices.DeleteFunc(left, func(s core.ShardID) bool { return slices.Contains(due, s) })
			r, _ = r.Learned(e, marks).Cleared(due)
		}
	})
}

func TestAShardThatFailedAloneIsTriedAloneAndWaitsLongerEachTime(t *testing.T) {
	t.Parallel()
	f := core.Failure{Code: core.CodeEngineKilled}
	plan := []core.ShardPlan{{Shard: "s1", First: 1, Last: 1}, {Shard: "s2", First: 1, Last: 1}}
	r := core.FailureRecord{}.Charged(f, 7).Suspecting(core.Execution{Plan: plan}, f)
	var delays []int64
	for range 4 {
		r = r.Charged(f, 7).Suspecting(core.Execution{Plan: plan[:1]}, f)
		delays = append(delays, r.BadShards[0].Delay/1000)
		if got := r.Due([]core.ShardID{"s1", "s2", "s3"}, 0); !slices.Equal(got, []core.ShardID{"s2", "s3"}) {
			t.Fatalf("expected the others to be due at once, got %v", got)
		}
	}
	if want := []int64{2, 2, 30, 60}; !slices.Equal(delays, want) {
		t.Fatalf("expected waits of %v seconds, got %v", want, delays)
	}
	if got := r.Portion([]core.ShardID{"s1", "s3"}); !slices.Equal(got, []core.ShardID{"s1"}) {
		t.Fatalf("expected s1 to be tried alone, got %v", got)
	}
}

func TestFailuresThatHaveACulpritOrNoneInThePassSplitNothing(t *testing.T) {
	t.Parallel()
	plan := []core.ShardPlan{{Shard: "s1", First: 1, Last: 1}, {Shard: "s2", First: 1, Last: 1}}
	for _, f := range []core.Failure{
		{Code: core.CodeStorage}, {Code: core.CodeKV}, {Code: core.CodeWorkerGone}, {Code: core.CodeAuth}, {Code: core.CodeEngineMissing},
		{Code: core.CodeCommitConflict}, {Code: core.CodeEngineOOM}, {Code: core.CodeSSTableCorrupt, Shard: "s1"},
	} {
		if r := (core.FailureRecord{}).Charged(f, 7).Suspecting(core.Execution{Plan: plan}, f); len(r.Suspects) > 0 {
			t.Errorf("%s: expected no suspects, got %v", f.Code, r.Suspects)
		}
	}
}

// Attack oom-loop: what an engine has memory for is found by halving, remembered when a success clears the
// rest, and forgotten only when successes have doubled it back to what the worker takes anyway.
func TestPassBytesAreHalvedByADeathAndDoubledBySuccessesUpToTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := core.Bytes(rapid.IntRange(2, 1<<20).Draw(t, "limit"))
		e := core.Execution{Bytes: limit, Limit: limit, Plan: []core.ShardPlan{{Shard: "s1", First: 1, Last: 9}}}
		f := core.Failure{Code: core.CodeEngineOOM}
		var r core.FailureRecord
		for range rapid.IntRange(1, 20).Draw(t, "deaths") {
			before := e.Bytes
			r = r.Charged(f, 7).Suspecting(e, f)
			if r.PassBytes < 1 || r.PassBytes > max(1, before/2) {
				t.Fatalf("after a death at %d the next pass takes %d", before, r.PassBytes)
			}
			e.Bytes = r.PassBytes
		}
		for empty := false; !empty; {
			before := r.PassBytes
			r, empty = r.Learned(e, nil).Cleared([]core.ShardID{"s1"})
			if empty != (2*before >= limit) || !empty && r.PassBytes != 2*before || r.Attempts != 0 {
				t.Fatalf("a success at %d of %d leaves %+v, empty is %v", before, limit, r, empty)
			}
		}
	})
}
