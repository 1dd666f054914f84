package lance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// TestStockWritersGoOnAcrossFences has real pylance open snapshots, writers and a shard's memtable, fences
// everything under them, and then lets them go on (testdata/across.py says what they do).
func TestStockWritersGoOnAcrossFences(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := openLake(t, t.TempDir())
	python, err := engine.FindPython(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, "-I", "-B", filepath.Join("testdata", "across.py"), l.Dir())
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	read := func(v any) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the writers ended: %v", cmd.Wait())
		}
		if err := json.Unmarshal(lines.Bytes(), v); err != nil {
			t.Fatal(err)
		}
	}
	var shards map[core.Target][]core.ShardID
	read(&shards)
	for target := range shards {
		fenceEverything(t, l, target)
	}
	if _, err := stdin.Write([]byte("go on\n")); err != nil {
		t.Fatal(err)
	}
	var result struct{ Failures []string }
	read(&result)
	for _, f := range result.Failures {
		t.Error(f)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	checkAfter(t, l, shards)
}

// fenceEverything adopts a table and fences base and shards twice. What a crash of a put leaves behind
// lies beside the manifests.
func fenceEverything(t *testing.T, l *lake.Local, target core.Target) {
	t.Helper()
	table := adopt(t, l, target, tableID)
	for range 2 {
		resources := []core.ResourceID{core.Base}
		for _, s := range table.Shards {
			resources = append(resources, core.ShardResource(s.Shard))
			leaveTemporary(t, l, lance.ShardManifestsFolder(target, s.Shard))
		}
		for _, r := range resources {
			if landed, err := lance.Fence(t.Context(), l, request(readTable(t, l, target), r)); !landed || err != nil {
				t.Fatalf("fence %s of %s: landed %t, %v", r, target, landed, err)
			}
		}
	}
	leaveTemporary(t, l, lance.VersionsFolder(target))
}

func leaveTemporary(t *testing.T, l *lake.Local, folder string) {
	t.Helper()
	name := filepath.Join(l.Dir(), filepath.FromSlash(folder), ".sluice-tmp-LEFT")
	if err := os.WriteFile(name, []byte("half a manifest"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkAfter reads what pylance made of our fences.
func checkAfter(t *testing.T, l lake.Lake, shards map[core.Target][]core.ShardID) {
	t.Helper()
	for target, ids := range shards {
		table := readTable(t, l, target)
		if table.Base.TableID != tableID || !table.Base.MemWAL || !table.Base.PrimaryKey {
			t.Errorf("%s: base is %+v", target, table.Base)
		}
		if want := (core.Marks{}).With(ids[0], 1); !table.Base.Marks.Equal(want) {
			t.Errorf("%s: marks %v, want %v", target, table.Base.Marks, want)
		}
		if len(table.Shards) != 1 || table.Shards[0].Shard != ids[0] || len(table.Pending(table.Shards[0])) == 0 {
			t.Errorf("%s: shards are %+v, want %s with what was written after the fence", target, table.Shards, ids[0])
		}
	}
	if scheme := readTable(t, l, "older").Base.Scheme; scheme != core.V1 {
		t.Errorf("the older table has scheme %s", scheme)
	}
}
