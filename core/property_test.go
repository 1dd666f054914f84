package core_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// The pure parts against naive references: maps and loops that nobody can get wrong.

var (
	someShard  = rapid.SampledFrom([]core.ShardID{"s1", "s2", "s3", "s4", "s5"})
	someShards = rapid.SliceOfN(someShard, 0, 6)
	someTarget = rapid.Map(
		rapid.StringMatching(`[a-zA-Z0-9 _.%~äöü$=&+-]{1,12}(/[a-zA-Z0-9 _.%~äöü$=&+-]{1,12}){0,2}`).Filter(isTarget),
		func(s string) core.Target { return core.Target(s) })
	someFailure = rapid.SampledFrom([]core.Failure{
		{Code: core.CodeEngineOOM}, {Code: core.CodeNoProgress}, {Code: core.CodeStorage}, {Code: core.CodeAuth}, {Code: core.CodeLakeChanged},
		{Code: core.CodeGenerationGap, Shard: "s1", Generation: 3}, {Code: core.CodeKeyInTwoShards, Shard: "s2", Other: "s3"}, {Code: core.CodeManifestCorrupt},
	})
)

func isTarget(s string) bool {
	_, err := core.ParseTarget(s)
	return err == nil
}

func TestMarksAreAMapFromShardToGeneration(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var marks core.Marks
		want := map[core.ShardID]core.Generation{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			s, g := someShard.Draw(t, "shard"), core.Generation(rapid.IntRange(0, 3).Draw(t, "generation"))
			before := slices.Clone(marks)
			next := marks.With(s, g)
			if !marks.Equal(before) {
				t.Fatalf("With changed its receiver: %v, was %v", marks, before)
			}
			if marks = next; g == 0 {
				delete(want, s)
			} else {
				want[s] = g
			}
			if len(marks) != len(want) {
				t.Fatalf("%v is not %v", marks, want)
			}
			for _, s := range []core.ShardID{"s1", "s2", "s3", "s4", "s5", "other"} {
				if marks.Of(s) != want[s] {
					t.Fatalf("%v is not %v", marks, want)
				}
			}
		}
	})
}

func TestWatermarksOnlyRise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := core.Watermarks{Execution: "e"}
		want := map[core.ResourceID]core.Version{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			r := rapid.SampledFrom([]core.ResourceID{core.Base, "shard/a", "shard/b"}).Draw(t, "resource")
			v := core.Version(rapid.IntRange(1, 9).Draw(t, "version"))
			w = w.Raise(r, v)
			want[r] = max(want[r], v)
			if again := w.Raise(r, v); core.Encode(again) != core.Encode(w) {
				t.Fatalf("raising twice is not raising once: %v, %v", w, again)
			}
			for r, v := range want {
				if w.Of(r) != v {
					t.Fatalf("%v is not %v", w, want)
				}
			}
			if w.Execution != "e" || len(w.Versions) != len(want) {
				t.Fatalf("%v is not %v", w, want)
			}
		}
	})
}

func TestDemandIsASetWithTheTimeOfItsOldest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d core.Demand
		want := map[core.ShardID]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			shards := someShards.Draw(t, "shards")
			if rapid.Bool().Draw(t, "take") {
				d = d.Take(shards)
				for _, s := range shards {
					delete(want, s)
				}
			} else {
				at := core.WallMillis(rapid.IntRange(1, 100).Draw(t, "at"))
				turn := rapid.Uint64Range(1, 9).Draw(t, "turn")
				fresh := slices.ContainsFunc(shards, func(s core.ShardID) bool { return !want[s] })
				before, empty := core.Encode(d), d.Empty()
				next, changed := d.Add(at, turn, shards, "r")
				if core.Encode(d) != before {
					t.Fatal("Add changed its receiver")
				}
				if changed != fresh || !changed && core.Encode(next) != before {
					t.Fatalf("adding %v to %v: changed is %v", shards, d, changed)
				}
				if changed && (empty && next.First != at || !empty && next.First != min(d.First, at)) {
					t.Fatalf("asked at %d, after %d: first is %d", at, d.First, next.First)
				}
				d = next
				for _, s := range shards {
					want[s] = true
				}
			}
			if !slices.Equal(d.Shards, slices.Sorted(maps.Keys(want))) && len(d.Shards)+len(want) > 0 {
				t.Fatalf("%v is not %v", d.Shards, want)
			}
		}
	})
}

func TestTransientRetriesAreThoseOfTheDesign(t *testing.T) {
	t.Parallel()
	want := []time.Duration{2, 2, 30, 60, 120, 240, 480, 900, 900, 900, 900, 900, 900, 900, 3600, 3600} // seconds
	var r core.FailureRecord
	for i, s := range want {
		r = r.Charged(core.Failure{Code: core.CodeStorage}, 7)
		if d := time.Duration(r.Delay) * time.Millisecond; d != s*time.Second || r.Attention != (i >= 14) {
			t.Errorf("attempt %d: waits %v, attention %v", i+1, d, r.Attention)
		}
	}
}

// Invariant 5, for the function that every charge goes through; and what waits for how long.
func TestABudgetOnlyGrowsAndHoldsWhatItMust(t *testing.T) {
	t.Parallel()
	all := []core.ShardID{"s1", "s2", "s3", "s4"}
	rapid.Check(t, func(t *rapid.T) {
		var r core.FailureRecord
		for range rapid.IntRange(1, 20).Draw(t, "failures") {
			f := someFailure.Draw(t, "failure")
			f.Detail = strings.Repeat("ä", rapid.SampledFrom([]int{0, 10, 5000}).Draw(t, "length"))
			before := r
			r = r.Charged(f, 7)
			switch {
			case r.Attempts != before.Attempts+1, before.Attention && !r.Attention, len(r.BadShards) < len(before.BadShards):
				t.Fatalf("a failure took something away: %+v, was %+v", r, before)
			case len([]rune(r.LastError)) > core.MaxErrorLength:
				t.Fatal("the stored error is too long")
			case f.Code.Class() != core.Transient && !r.Attention:
				t.Fatalf("%s needs a person's attention", f.Code)
			}
			for _, b := range before.BadShards {
				if f.Shard != b.Shard && slices.Contains(r.Due(all, 59*time.Minute), b.Shard) {
					t.Fatalf("%s brought %s back before its hour: %+v", f.Code, b.Shard, r)
				}
			}
			if f.Shard != "" && !slices.Contains(r.Due(all, 0), "s4") {
				t.Fatalf("a failure of %s keeps s4 waiting: %+v", f.Shard, r)
			}
			if f.Shard == "" && len(r.Due(all, time.Second)) > 0 {
				t.Fatalf("%s is tried again within a second: %+v", f.Code, r)
			}
			if got := r.Due(all, time.Hour); !slices.Equal(got, all) {
				t.Fatalf("after an hour only %v are due: %+v", got, r)
			}
			checkNextDue(t, r, all)
		}
	})
}

// checkNextDue: between two of its moments nothing more becomes due.
func checkNextDue(t *rapid.T, r core.FailureRecord, all []core.ShardID) {
	for seen := time.Duration(0); ; {
		next := r.NextDue(seen)
		if next == 0 {
			if !slices.Equal(r.Due(all, seen), all) {
				t.Fatalf("nothing more is announced, and not all are due: %+v", r)
			}
			return
		}
		if len(r.Due(all, next-1)) != len(r.Due(all, seen)) {
			t.Fatalf("something became due between %v and %v: %+v", seen, next, r)
		}
		seen = next
	}
}

func TestASuccessClearsAllButOtherBadShards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r core.FailureRecord
		for range rapid.IntRange(1, 6).Draw(t, "failures") {
			r = r.Charged(someFailure.Draw(t, "failure"), 7)
		}
		merged := someShards.Draw(t, "merged")
		left, empty := r.Cleared(merged)
		for _, b := range r.BadShards {
			if left.Bad(b.Shard) == slices.Contains(merged, b.Shard) {
				t.Fatalf("merged %v of %v: left %v", merged, r.BadShards, left.BadShards)
			}
		}
		if empty != (len(left.BadShards) == 0) || !empty && !left.Attention {
			t.Fatalf("empty is %v: %+v", empty, left)
		}
	})
}

func TestAPassIsContiguousBoundedAndNeverEmptyWithoutNeed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := core.Table{Target: "events"}
		limits := core.PassLimits{Generations: rapid.IntRange(1, 6).Draw(t, "generations"), Size: core.Bytes(rapid.IntRange(1, 40).Draw(t, "size"))}
		if rapid.Bool().Draw(t, "some are too large") {
			limits.Largest = core.Bytes(rapid.IntRange(10, 20).Draw(t, "largest"))
		}
		budget := core.Bytes(rapid.IntRange(0, 50).Draw(t, "budget"))
		asked, possible := []core.ShardID{}, 0
		for _, id := range []core.ShardID{"s1", "s2", "s3"} {
			s := core.ShardManifest{Shard: id}
			mark := core.Generation(rapid.IntRange(0, 3).Draw(t, "mark"))
			table.Base.Marks = table.Base.Marks.With(id, mark)
			for g := core.Generation(1); g <= 8; g++ {
				if rapid.IntRange(0, 9).Draw(t, "there") > 0 {
					s.SSTables = append(s.SSTables, core.SSTable{Generation: g, Size: core.Bytes(rapid.IntRange(-1, 20).Draw(t, "bytes"))})
				}
			}
			table.Shards = append(table.Shards, s)
			if rapid.Bool().Draw(t, "asked") {
				asked = append(asked, id)
				if p := table.Pending(s); len(p) > 0 && p[0].Generation == mark+1 && (limits.Largest == 0 || p[0].Size <= limits.Largest) {
					possible++
				}
			}
		}
		pass, bad := core.PlanPass(table, asked, limits.Within(budget).Turn(rapid.Uint64().Draw(t, "turn")))
		full := limits.Size
		if budget > 0 {
			full = min(full, budget)
		}
		count, size := 0, core.Bytes(0)
		for i, p := range pass.Plan {
			in := pass.Inputs[i]
			if !slices.Contains(asked, p.Shard) || in.Shard != p.Shard || p.First != table.Base.Marks.Of(p.Shard)+1 || in.Mark != p.First-1 {
				t.Fatalf("plan %+v, asked for %v, marks %v", p, asked, table.Base.Marks)
			}
			for j, st := range in.SSTables {
				if st.Generation != p.First+core.Generation(j) {
					t.Fatalf("not contiguous: %+v", in)
				}
				if limits.Largest > 0 && st.Size > limits.Largest {
					t.Fatalf("took one of %d bytes, the largest is %d", st.Size, limits.Largest)
				}
				if st.Size < 0 { // not measured: an equal share
					st.Size = max(1, limits.Size/core.Bytes(limits.Generations))
				}
				count, size = count+1, size+st.Size
			}
			if last := in.SSTables[len(in.SSTables)-1].Generation; last != p.Last {
				t.Fatalf("plan %+v, inputs to %d", p, last)
			}
		}
		switch {
		case possible > 0 && count == 0, possible == 0 && count > 0:
			t.Fatalf("%d shards could be merged, %d generations are", possible, count)
		case count > limits.Generations, count > 1 && size > full, pass.Size != size:
			t.Fatalf("%d generations of %d bytes are over %+v and %d", count, size, limits, budget)
		case bad.Code != "" && (bad.Code != core.CodeGenerationGap && bad.Code != core.CodeTooLarge || !slices.Contains(asked, bad.Shard)):
			t.Fatalf("unexpected: %+v", bad)
		}
	})
}

func TestATargetsSegmentIsItsOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := someTarget.Draw(t, "a"), someTarget.Draw(t, "b")
		back, err := core.TargetOfSegment(a.Segment())
		if err != nil || back != a || strings.Contains(a.Segment(), "/") {
			t.Fatalf("%q is the segment %q and then %q: %v", a, a.Segment(), back, err)
		}
		if a == b {
			return
		}
		for _, r := range []core.Range{core.FailureRange(a), core.HistoryRange(a), core.TakeoverRange(a)} {
			for _, key := range []string{core.FailureKey(b, "w"), core.HistoryKey(b, 1), core.TakeoverKey(b, 1), core.TableKey(b), core.AdmittedKey(b)} {
				if r.Contains(key) {
					t.Fatalf("the range %v of %q holds %s of %q", r, a, key, b)
				}
			}
		}
	})
}

func TestTargetsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a/./b", "a.lance", "a.lance/b", "_sluice", "_sluice/x", "a\\b", "a\x00b", "a\nb",
		"\xff", strings.Repeat("a", core.MaxTargetLength+1),
	} {
		if got, err := core.ParseTarget(s); err == nil {
			t.Errorf("%q is taken for the target %q", s, got)
		}
	}
	for _, seg := range []string{"%61", "db%2fevents", "a/b", "%zz"} {
		if got, err := core.TargetOfSegment(seg); err == nil {
			t.Errorf("the segment %q, which nobody writes, is taken for %q", seg, got)
		}
	}
}

func TestAPrefixedRangeHoldsExactlyItsPrefix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.StringMatching(`[ab/\x{ff}~]{0,5}`)
		p, key := rapid.StringMatching(`[ab/~]{1,4}`).Draw(t, "prefix"), some.Draw(t, "key")
		if got := core.Prefixed(p).Contains(key); got != strings.HasPrefix(key, p) {
			t.Fatalf("%q in the range of %q: %v", key, p, got)
		}
	})
}

func TestAViewKeptUpToDateIsTheViewOfTheWhole(t *testing.T) {
	t.Parallel()
	keys := []string{
		core.TableKey("db"), core.OwnerKey("db"), core.ExecutionKey("db/events"), core.AdmittedKey("db"), core.ProgressKey("db"), core.DemandKey("db"),
		core.ModeKey("db"), core.PolicyKey("db"), core.FailureKey("db", "w1"), core.FailureKey("db", "w2"), core.MasterKey("m1"), core.WorkerKey("w1"), core.LoadKey("w1"), core.HistoryKey("db", 1),
	}
	values := []string{`{}`, `"e1"`, `{"unknown":1}`, `nonsense`}
	rapid.Check(t, func(t *rapid.T) {
		v, records := core.NewView(), map[string]core.Record{}
		for rev := core.Revision(1); rev <= core.Revision(rapid.IntRange(1, 25).Draw(t, "steps")); rev++ {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			if _, ok := records[key]; ok && rapid.Bool().Draw(t, "delete") {
				delete(records, key)
				v.Apply(rev, nil, []string{key})
			} else {
				records[key] = core.Record{Key: key, Value: rapid.SampledFrom(values).Draw(t, "value"), Mod: rev}
				v.Apply(rev, []core.Record{records[key]}, nil)
			}
			var all []core.Record
			for _, key := range slices.Sorted(maps.Keys(records)) {
				all = append(all, records[key])
			}
			whole := core.ViewOf(rev, all)
			for _, target := range []core.Target{"db", "db/events"} { // both views know them from here on
				if got, want := fmt.Sprintf("%+v", *v.Target(target)), fmt.Sprintf("%+v", *whole.Target(target)); got != want {
					t.Fatalf("step by step\n%s\nas a whole\n%s", got, want)
				}
			}
			if got, want := fmt.Sprint(v.Masters, v.Workers, v.Loads, v.Broken), fmt.Sprint(whole.Masters, whole.Workers, whole.Loads, whole.Broken); got != want {
				t.Fatalf("step by step\n%s\nas a whole\n%s", got, want)
			}
		}
	})
}

// TestMain keeps rapid from leaving files in the tree: a failing case prints the seed that makes it again.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	m.Run()
}
