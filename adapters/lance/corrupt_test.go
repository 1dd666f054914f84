package lance_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// samples are a base manifest with indexes and a shard manifest with SSTables.
func samples(t *testing.T) (base, shard []byte) {
	t.Helper()
	first := func(pattern string) []byte {
		names, err := filepath.Glob(filepath.Join(golden, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no golden file %s: %v", pattern, err)
		}
		b, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return first("indexed.lance/_versions/*10.manifest"), first("mem_wal.lance/_mem_wal/*/manifest/*.binpb")
}

// wantCorrupt checks that an error is a failure with a code and names the file.
func wantCorrupt(t interface {
	Helper()
	Fatalf(string, ...any)
}, err error, key string) {
	t.Helper()
	var f core.Failure
	if !errors.As(err, &f) || f.Code != core.CodeManifestCorrupt || !strings.Contains(f.Detail, key) {
		t.Fatalf("got %v, want %s that names %s", err, core.CodeManifestCorrupt, key)
	}
}

func TestATruncatedManifestIsCorruptAtEveryLength(t *testing.T) {
	t.Parallel()
	base, _ := samples(t)
	for n := range len(base) {
		_, err := lance.ParseBase("a.manifest", base[:n])
		wantCorrupt(t, err, "a.manifest")
	}
}

func TestATruncatedShardManifestNeverPanics(t *testing.T) {
	t.Parallel()
	_, shard := samples(t)
	for n := range len(shard) {
		// Cut between two fields it is a valid message; then the shard id at its end is missing.
		_, err := lance.ParseShard("a.binpb", shard[:n])
		wantCorrupt(t, err, "a.binpb")
	}
}

func TestAManifestWithRandomChangesIsReadOrCorruptNeverAPanic(t *testing.T) {
	t.Parallel()
	base, shard := samples(t)
	rapid.Check(t, func(t *rapid.T) {
		change := func(b []byte, label string) []byte {
			out := append([]byte(nil), b...)
			for range rapid.IntRange(1, 8).Draw(t, label) {
				out[rapid.IntRange(0, len(out)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
			return out
		}
		changed := change(base, "base")
		if b, err := lance.ParseBase("a.manifest", changed); err != nil {
			wantCorrupt(t, err, "a.manifest")
		} else if string(b.Encode()) != string(changed) {
			t.Fatal("what could be read does not encode to the same bytes")
		} else if _, err := b.Successor(lance.Entry{Key: "k", Value: "v"}, "u", 1); err != nil {
			var f core.Failure
			if !errors.As(err, &f) {
				t.Fatalf("got %v without a code", err)
			}
		}
		changed = change(shard, "shard")
		if s, err := lance.ParseShard("a.binpb", changed); err != nil {
			wantCorrupt(t, err, "a.binpb")
		} else if string(s.Encode()) != string(changed) {
			t.Fatal("what could be read does not encode to the same bytes")
		}
	})
}

func FuzzParse(f *testing.F) {
	base, err := os.ReadFile(filepath.Join(golden, "mem_wal.lance", "_versions", lance.BaseName(core.V2, 4)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(base)
	f.Add([]byte("LANC"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := lance.ParseBase("a", b); err != nil {
			wantCorrupt(t, err, "a")
		}
		if _, err := lance.ParseShard("a", b); err != nil {
			wantCorrupt(t, err, "a")
		}
		if _, err := lance.ParseTransaction("a", b); err != nil {
			wantCorrupt(t, err, "a")
		}
	})
}
