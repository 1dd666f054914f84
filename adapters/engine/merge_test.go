package engine_test

import (
	"fmt"
	"testing"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/core"
)

func ids(from, to int, v string) []row {
	var rows []row
	for i := from; i < to; i++ {
		rows = append(rows, row{"id": i, "v": v})
	}
	return rows
}

var idAndText = []string{"id", "int64", "v", "string"}

func TestTheNewestRowOfAKeyWins(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 100, "base"), idAndText...)
	for g := range 20 {
		// Each generation updates some rows of those before it and inserts some.
		tb.put(shardA, ids(90+g*3, 100+g*3, fmt.Sprint("generation ", g+1)))
	}
	want := tb.view(shardA)
	r := merge(t, tb.job(shardA))
	wantCode(t, r.failure, core.CodeOK)
	if want := (engine.Plan{Rows: 67, Commits: 1, Rebasable: true, ReadVersion: 2}); r.plan != want {
		t.Errorf("plan %+v, want %+v", r.plan, want)
	}
	got := tb.base()
	wantRows(t, got.Rows, want)
	if got.Version != 3 || r.done != (engine.Done{RowsUpserted: 67, Version: 3}) {
		t.Errorf("base at version %d, engine says %+v; want one commit, version 3, with 67 rows", got.Version, r.done)
	}
	if !tb.marked(shardA, 20) {
		t.Error("the mark is not at generation 20")
	}
	last := r.progress[len(r.progress)-1]
	if last.Phase != engine.PhaseCommit || last.Rows < 200+67 {
		t.Errorf("last progress %+v, want a commit after 200 rows read and 67 merged", last)
	}
}

func TestTombstonesLandInOneCommit(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 20, "base"), idAndText...)
	tb.put(shardA, ids(10, 30, "one"), row{"id": 3}, row{"id": 12}, row{"id": 25})
	tb.generation(shardA, ids(12, 13, "back again"), []row{{"id": 12}, {"id": 4}, {"id": 1000}}, "delete first")
	tb.put(shardA, ids(40, 41, "short life"), row{"id": 40}, row{"id": 28})
	want := tb.view(shardA)
	r := merge(t, tb.job(shardA))
	wantCode(t, r.failure, core.CodeOK)
	if r.plan.Commits != 1 || r.plan.Rebasable || r.plan.Tombstones != 6 {
		t.Errorf("plan %+v, want 6 tombstones in 1 commit that is not rebasable", r.plan)
	}
	got := tb.base()
	wantRows(t, got.Rows, want)
	if got.Version != 3 {
		t.Errorf("base at version %d, want one commit on top of 2", got.Version)
	}
}

func TestTombstonesOfEveryKindOfKey(t *testing.T) {
	t.Parallel()
	quotes := []row{}
	for _, k := range []string{"it's", `a\`, `\'`, "`", `"`, "--", "/*", "nul\x00nul", "ü\u2028", "", "''", "E'x'", "a;b"} {
		quotes = append(quotes, row{"my key": k})
	}
	for _, c := range []struct {
		name    string
		columns []string
		base    []row
		upserts []row
		deletes []row
		commits int
	}{
		{"text with quotes", []string{"my key", "string", "v", "string"}, quotes, []row{{"my key": "new"}}, quotes[1:], 1},
		{"bool", []string{"id", "bool", "v", "string"}, []row{{"id": true}, {"id": false}}, []row{{"id": true, "v": "x"}}, []row{{"id": false}}, 1},
		{"small unsigned numbers", []string{"id", "uint8", "v", "string"}, []row{{"id": 255}, {"id": 0}}, []row{{"id": 7}}, []row{{"id": 255}}, 1},
		{"the least of all numbers", []string{"id", "int64", "v", "string"}, []row{{"id": -1 << 63}, {"id": 1}}, []row{{"id": 2}}, []row{{"id": -1 << 63}}, 2},
		{"bytes", []string{"id", "binary", "v", "string"}, []row{{"id": "a"}, {"id": "b"}}, []row{{"id": "b", "v": "x"}}, []row{{"id": "a"}}, 2},
		{
			"two columns", []string{"id", "int64", "region", "string", "v", "string"},
			[]row{{"id": 1, "region": "eu"}, {"id": 1, "region": "us"}, {"id": 2, "region": "eu"}},
			[]row{{"id": 2, "region": "eu", "v": "x"}, {"id": 2, "region": "us"}},
			[]row{{"id": 1, "region": "us"}}, 2,
		},
		{"nothing but tombstones", idAndText, ids(0, 5, "base"), nil, []row{{"id": 1}, {"id": 2}}, 1},
		{"nothing but tombstones of bytes", []string{"id", "binary", "v", "string"}, []row{{"id": "a"}, {"id": "b"}}, nil, []row{{"id": "b"}}, 1},
		{"nothing that is there", idAndText, ids(0, 5, "base"), nil, []row{{"id": 77}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key := c.columns[:1]
			if c.columns[2] == "region" {
				key = []string{"id", "region"}
			}
			tb := newTable(t, key, c.base, c.columns...)
			tb.put(shardA, c.upserts, c.deletes...)
			want := tb.view(shardA)
			r := merge(t, tb.job(shardA))
			wantCode(t, r.failure, core.CodeOK)
			if r.plan.Commits != c.commits || r.plan.Rebasable {
				t.Errorf("plan %+v, want %d commits, not rebasable", r.plan, c.commits)
			}
			got := tb.base()
			wantRows(t, got.Rows, want)
			if v := core.Version(2 + c.commits); got.Version != v || r.done.Version != v {
				t.Errorf("base at version %d, engine says %d, want %d", got.Version, r.done.Version, v)
			}
			if !tb.marked(shardA, 1) {
				t.Error("the mark is not at generation 1")
			}
		})
	}
}

func TestColumnsOfEveryKind(t *testing.T) {
	t.Parallel()
	make := func(i int, s string) row {
		return row{
			"id": i, "vec": []float64{float64(i), 0.5, -1, 2}, "blob": s + " as a blob",
			"nested": []any{row{"x": i, "tags": []any{s, nil}}, nil},
		}
	}
	tb := newTable(t, []string{"id"}, []row{make(1, "base"), make(2, "base"), make(3, "base")},
		"id", "int64", "vec", "vector", "blob", "blob", "nested", "nested")
	tb.put(shardA, []row{make(2, "new"), {"id": 4}, make(5, "new")}, row{"id": 3})
	r := merge(t, tb.job(shardA))
	wantCode(t, r.failure, core.CodeOK)
	// NB: compared with what was written, because Lance's own scanner shows a blob as where it lies.
	none := row{"id": 4, "vec": nil, "blob": nil, "nested": nil}
	wantRows(t, tb.base().Rows, []row{make(1, "base"), make(2, "new"), none, make(5, "new")})
}

func TestSSTablesFromBeforeTheSchemaChanged(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, []row{{"id": 1, "a": "a", "b": "b"}}, "id", "int64", "a", "string", "b", "string")
	tb.put(shardA, []row{{"id": 2, "a": "old", "b": "old"}})
	lsm.call(t, nil, "evolve", args{"dir": tb.dir, "add": "c", "rename": []string{"a", "renamed"}, "drop": "b"})
	tb.put(shardA, []row{{"id": 3, "renamed": "new", "c": "new"}})
	want := tb.view(shardA)
	r := merge(t, tb.job(shardA))
	wantCode(t, r.failure, core.CodeOK)
	wantRows(t, tb.base().Rows, want)
	wantRows(t, want, []row{
		{"id": 1, "renamed": "a", "c": nil}, {"id": 2, "renamed": "old", "c": nil}, {"id": 3, "renamed": "new", "c": "new"},
	})
}

func TestTwoShardsInOneCommit(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(0, 3, "a"))
	tb.put(shardB, ids(5, 8, "b"))
	tb.put(shardB, ids(7, 12, "b2"), row{"id": 5})
	want := tb.view(shardA, shardB)
	r := merge(t, tb.job(shardA, shardB))
	wantCode(t, r.failure, core.CodeOK)
	got := tb.base()
	wantRows(t, got.Rows, want)
	if got.Version != 3 || !tb.marked(shardA, 1) || !tb.marked(shardB, 2) {
		t.Errorf("base at version %d, want 3 with both marks", got.Version)
	}
}

func TestAKeyInTwoShardsPublishesNothing(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(0, 3, "a"))
	tb.put(shardB, ids(2, 5, "b"))
	r := merge(t, tb.job(shardA, shardB))
	wantCode(t, r.failure, core.CodeKeyInTwoShards)
	if r.failure.Shard != shardA || r.failure.Other != shardB {
		t.Errorf("names shards %q and %q, want both", r.failure.Shard, r.failure.Other)
	}
	if r.plan != (engine.Plan{}) || tb.base().Version != 2 {
		t.Errorf("plan %+v, base at version %d; want neither a plan nor a commit", r.plan, tb.base().Version)
	}
}

func TestAPassThatIsStreamed(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 100, "base"), idAndText...)
	tb.put(shardA, ids(50, 150, "one"), row{"id": 60})
	tb.put(shardA, ids(70, 80, "two"), row{"id": 10}, row{"id": 149})
	want := tb.view(shardA)
	j := tb.job(shardA)
	for i := range j.Shards[0].Generations {
		j.Shards[0].Generations[i].Bytes = core.Unmeasured // too large to keep, for all the engine knows
	}
	r := merge(t, j)
	wantCode(t, r.failure, core.CodeOK)
	wantRows(t, tb.base().Rows, want)
}
