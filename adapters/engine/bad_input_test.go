package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/core"
)

func TestAnSSTableThatCannotBeRead(t *testing.T) {
	t.Parallel()
	remove := func(path string) error { return os.RemoveAll(path) }
	halve := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}
	for _, c := range []struct {
		name   string
		what   string // pattern below the SSTable's directory
		damage func(path string) error
		want   core.Code
	}{
		{"is gone", "", remove, core.CodeSSTableMissing},
		{"has no manifest", "_versions", remove, core.CodeSSTableMissing},
		{"has no data", "data", remove, core.CodeSSTableMissing},
		{"has half a manifest", "_versions/*.manifest", halve, core.CodeSSTableCorrupt},
		{"has half its data", "data/*.lance", halve, core.CodeSSTableCorrupt},
		{"has half a deletion file", "_deletions/*.bin", halve, core.CodeSSTableCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
			tb.put(shardA, ids(0, 3, "one"))
			tb.put(shardA, ids(0, 3, "two"), row{"id": 2})
			j := tb.job(shardA)
			found, err := filepath.Glob(filepath.Join(tb.dir, "_mem_wal", string(shardA), j.Shards[0].Generations[1].Path, c.what))
			if err != nil || len(found) != 1 {
				t.Fatalf("found %v %v, want one", found, err)
			}
			if err := c.damage(found[0]); err != nil {
				t.Fatal(err)
			}
			r := merge(t, j)
			wantCode(t, r.failure, c.want)
			if r.failure.Shard != shardA || r.failure.Generation != 2 {
				t.Errorf("names shard %q generation %d, want %s and 2", r.failure.Shard, r.failure.Generation, shardA)
			}
			if v := tb.base().Version; v != 2 {
				t.Errorf("base at version %d, want nothing published", v)
			}
		})
	}
}

func TestAnSSTableThatVanishesUnderAStreamPublishesNothing(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(0, 3, "one"))
	tb.put(shardA, ids(2, 5, "two"))
	j := tb.job(shardA)
	for i := range j.Shards[0].Generations {
		j.Shards[0].Generations[i].Bytes = core.Unmeasured // read again for the commit
	}
	r := follow(t, start(t, merger, j), func(engine.Plan) {
		if err := os.RemoveAll(filepath.Join(tb.dir, "_mem_wal", string(shardA), j.Shards[0].Generations[1].Path)); err != nil {
			t.Error(err)
		}
	})
	wantCode(t, r.failure, core.CodeSSTableMissing)
	if r.failure.Shard != shardA || r.failure.Generation != 2 {
		t.Errorf("names shard %q generation %d, want %s and 2", r.failure.Shard, r.failure.Generation, shardA)
	}
	if v := tb.base().Version; v != 2 {
		t.Errorf("base at version %d, want nothing published", v)
	}
}

func TestATableThatCannotBeMergedInto(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(0, 3, "one"))
	good := tb.job(shardA)
	keyless := newTable(t, []string{}, ids(0, 10, "base"), idAndText...)
	plain := filepath.Join(t.TempDir(), "plain.lance")
	lsm.call(t, nil, "make", args{"dir": plain, "columns": [][]string{{"id", "int64"}}, "key": []string{"id"}, "rows": ids(0, 1, ""), "lsm": false})
	for _, c := range []struct {
		name string
		job  func(engine.Job) engine.Job
		want core.Code
	}{
		{"is not there", func(j engine.Job) engine.Job { j.URI += "x"; return j }, core.CodeTableMissing},
		{"has no MemWAL", func(j engine.Job) engine.Job { j.URI = plain; return j }, core.CodeNoMemWAL},
		{"has no primary key", func(j engine.Job) engine.Job { j.URI = keyless.dir; return j }, core.CodeNoPrimaryKey},
		{"is older than at Start", func(j engine.Job) engine.Job { j.BaseVersion = 7; return j }, core.CodeLakeWentBack},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantCode(t, merge(t, c.job(good)).failure, c.want)
		})
	}
}

func TestAPassThatIsMergedAlreadyIsStale(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(0, 3, "one"))
	j := tb.job(shardA)
	wantCode(t, merge(t, j).failure, core.CodeOK)
	wantCode(t, merge(t, j).failure, core.CodeStale)
}

func TestACommitOfSomebodyElseIsALostRace(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(5, 15, "merged"))
	want := tb.view(shardA)
	tries := 0
	r := follow(t, start(t, merger, tb.job(shardA)), func(engine.Plan) {
		if tries++; tries > 1 {
			return // it tells its plan again for the second try
		}
		lsm.call(t, nil, "write", args{"dir": tb.dir, "rows": []row{{"id": 7, "v": "foreign"}, {"id": 99, "v": "foreign"}}})
	})
	wantCode(t, r.failure, core.CodeOK)
	wantRows(t, tb.base().Rows, append(want, row{"id": 99, "v": "foreign"}))
	if tries != 2 {
		t.Errorf("%d tries, want 2", tries)
	}
}

func TestAJobMustNameWhatComesNext(t *testing.T) {
	t.Parallel()
	g := func(n core.Generation) engine.Generation { return engine.Generation{Generation: n, Path: "x"} }
	shard := func(mark core.Generation, gs ...engine.Generation) engine.Shard {
		return engine.Shard{Shard: shardA, Mark: mark, Generations: gs}
	}
	for _, c := range []struct {
		name   string
		shards []engine.Shard
		code   core.Code
		words  string
	}{
		{"from the mark on", []engine.Shard{shard(2, g(3), g(4))}, "", ""},
		{"a gap after the mark", []engine.Shard{shard(1, g(3))}, core.CodeGenerationGap, "generation 2 is missing"},
		{"a gap inside", []engine.Shard{shard(0, g(1), g(3))}, core.CodeGenerationGap, "generation 2 is missing"},
		{"no shard", nil, "", "no shard"},
		{"no generation", []engine.Shard{shard(3)}, "", "without generations"},
		{"a shard twice", []engine.Shard{shard(0, g(1)), shard(0, g(1))}, "", "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := engine.Job{URI: "s3://lake/a.lance", Shards: c.shards}.Validate()
			if c.words == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("error %v, want one with %q", err, c.words)
			}
			var f core.Failure
			if errors.As(err, &f); f.Code != c.code {
				t.Errorf("code %q, want %q", f.Code, c.code)
			}
		})
	}
}
