package lance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// golden is the folder of manifests that testdata/lance/make.py made with the real library.
var golden = filepath.Join("..", "..", "testdata", "lance")

// facts is what pylance itself says of the tables there.
type facts map[core.Target]struct {
	Versions []versionFacts `json:"versions"`
	// Shards: id → directory of an SSTable → generation.
	Shards map[core.ShardID]map[string]core.Generation `json:"shards"`
}

type versionFacts struct {
	Version     core.Version                     `json:"version"`
	Rows        int64                            `json:"rows"`
	Fragments   int                              `json:"fragments"`
	Operation   string                           `json:"operation"`
	ReadVersion core.Version                     `json:"read_version"`
	PrimaryKey  bool                             `json:"primary_key"`
	MemWAL      bool                             `json:"mem_wal"`
	Marks       map[core.ShardID]core.Generation `json:"marks"`
}

func readFacts(t *testing.T) facts {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f facts
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func openLake(t *testing.T, dir string) *lake.Local {
	t.Helper()
	l, err := lake.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// keysWithSuffix lists the golden files of one kind; none at all would be a test of nothing.
func keysWithSuffix(t *testing.T, l lake.Lake, suffix string) []string {
	t.Helper()
	infos, err := l.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, info := range infos {
		if strings.HasSuffix(info.Key, suffix) {
			keys = append(keys, info.Key)
		}
	}
	if len(keys) < 10 {
		t.Fatalf("only %d files end with %s in %s; run make.py there", len(keys), suffix, golden)
	}
	return keys
}

func get(t *testing.T, l lake.Lake, key string) []byte {
	t.Helper()
	b, err := l.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryGoldenManifestRoundTripsByteForByte(t *testing.T) {
	t.Parallel()
	l := openLake(t, golden)
	for _, key := range keysWithSuffix(t, l, ".manifest") {
		body := get(t, l, key)
		b, err := lance.ParseBase(key, body)
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(b.Encode(), body) {
			t.Errorf("%s: parsed and encoded, the bytes differ", key)
		}
	}
	for _, key := range keysWithSuffix(t, l, ".binpb") {
		body := get(t, l, key)
		s, err := lance.ParseShard(key, body)
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(s.Encode(), body) {
			t.Errorf("%s: parsed and encoded, the bytes differ", key)
		}
	}
}

func TestFactsOfEveryVersionAreThoseOfPylance(t *testing.T) {
	t.Parallel()
	l := openLake(t, golden)
	for target, table := range readFacts(t) {
		_, scheme, err := lance.LatestBase(t.Context(), l, target)
		if err != nil {
			t.Fatal(err)
		}
		if v1 := scheme == core.V1; v1 != (target == "v1_names") {
			t.Errorf("%s: scheme %s", target, scheme)
		}
		for _, want := range table.Versions {
			got, err := lance.ReadBase(t.Context(), l, target, scheme, want.Version)
			if err != nil {
				t.Error(err)
				continue
			}
			checkVersion(t, target, got, want)
		}
	}
}

func checkVersion(t *testing.T, target core.Target, got lance.BaseFile, want versionFacts) {
	t.Helper()
	operation := core.Operation(want.Operation)
	if operation == "BaseOperation" {
		// pylance has no class for it; the only one in these tables is a compaction's first commit.
		operation = core.OpReserveFragments
	}
	var marks core.Marks
	for s, g := range want.Marks {
		marks = marks.With(s, g)
	}
	expect := func(what string, seen, said any) {
		if seen != said {
			t.Errorf("%s v%d: %s is %v, pylance says %v", target, want.Version, what, seen, said)
		}
	}
	expect("version", got.Facts.Version, want.Version)
	expect("row count", got.Rows, want.Rows)
	expect("fragment count", got.Fragments, want.Fragments)
	expect("operation", got.Facts.Operation, operation)
	expect("read version", got.Facts.ReadVersion, want.ReadVersion)
	expect("primary key", got.Facts.PrimaryKey, want.PrimaryKey)
	expect("MemWAL index", got.Facts.MemWAL, want.MemWAL)
	expect("unknown flags", got.Facts.UnknownFlags, uint64(0))
	if !got.Facts.Marks.Equal(marks) {
		t.Errorf("%s v%d: marks %v, want %v", target, want.Version, got.Facts.Marks, marks)
	}
}

func TestATableShowsItsNewestVersionAndItsShards(t *testing.T) {
	t.Parallel()
	l := openLake(t, golden)
	for target, want := range readFacts(t) {
		table, err := lance.ReadTable(t.Context(), l, target)
		if err != nil {
			t.Fatal(err)
		}
		if newest := want.Versions[len(want.Versions)-1].Version; table.Base.Version != newest {
			t.Errorf("%s: newest version %d, want %d", target, table.Base.Version, newest)
		}
		if len(table.Shards) != len(want.Shards) {
			t.Errorf("%s: %d shards, want %d", target, len(table.Shards), len(want.Shards))
		}
		for _, shard := range table.Shards {
			checkShard(t, target, shard, want.Shards[shard.Shard])
		}
	}
}

func checkShard(t *testing.T, target core.Target, got core.ShardManifest, want map[string]core.Generation) {
	t.Helper()
	if len(got.SSTables) != len(want) || len(want) == 0 {
		t.Errorf("%s shard %s: %d SSTables, want %d", target, got.Shard, len(got.SSTables), len(want))
	}
	for i, st := range got.SSTables {
		if want[st.Path] != st.Generation {
			t.Errorf("%s shard %s: %s has generation %d, want %d", target, got.Shard, st.Path, st.Generation, want[st.Path])
		}
		if st.Size <= 0 || st.Rows <= 0 {
			t.Errorf("%s shard %s: generation %d has size %d and %d rows", target, got.Shard, st.Generation, st.Size, st.Rows)
		}
		if i > 0 && st.Generation < got.SSTables[i-1].Generation {
			t.Errorf("%s shard %s: not sorted", target, got.Shard)
		}
	}
}

func TestNamesAndVersionsAreInverse(t *testing.T) {
	t.Parallel()
	for _, v := range []core.Version{1, 2, 9, 10, 1 << 40, 1<<63 - 1} {
		for _, scheme := range []core.NamingScheme{core.V1, core.V2} {
			gotScheme, got, ok := lance.ParseBaseName(lance.BaseName(scheme, v))
			if !ok || got != v || gotScheme != scheme {
				t.Errorf("%s v%d reads back as %s v%d, %t", scheme, v, gotScheme, got, ok)
			}
		}
		if got, ok := lance.ParseShardName(lance.ShardName(v)); !ok || got != v {
			t.Errorf("shard v%d reads back as %d, %t", v, got, ok)
		}
	}
	for _, name := range []string{
		"", ".manifest", "0.manifest", "07.manifest", "-1.manifest", "+7.manifest", "7.manifest.tmp", "d7.manifest",
		"18446744073709551615.manifest", "99999999999999999999.manifest", "00000000000000000000.manifes",
	} {
		if scheme, v, ok := lance.ParseBaseName(name); ok {
			t.Errorf("%q reads as %s v%d", name, scheme, v)
		}
	}
	for _, name := range []string{"", ".binpb", strings.Repeat("0", 64) + ".binpb", strings.Repeat("2", 64) + ".binpb", strings.Repeat("1", 63) + ".binpb"} {
		if v, ok := lance.ParseShardName(name); ok {
			t.Errorf("%q reads as v%d", name, v)
		}
	}
}

// copyTable copies one golden table into a lake of the test's own.
func copyTable(t *testing.T, target core.Target) *lake.Local {
	t.Helper()
	dir := t.TempDir()
	from := os.DirFS(filepath.Join(golden, filepath.FromSlash(target.Path())))
	if err := os.CopyFS(filepath.Join(dir, filepath.FromSlash(target.Path())), from); err != nil {
		t.Fatal(err)
	}
	return openLake(t, dir)
}

func put(t *testing.T, l lake.Lake, key string, body []byte) {
	t.Helper()
	if err := l.Put(context.WithoutCancel(t.Context()), key, body); err != nil {
		t.Fatal(err)
	}
}
