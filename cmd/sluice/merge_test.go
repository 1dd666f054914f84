package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// result is what `sluice merge --json` prints.
type result struct {
	Outcome     string
	Generations int
	Rows        int64
	From        core.Version `json:"from_version"`
	To          core.Version `json:"to_version"`
	Executions  []struct {
		Number uint64
		Merged bool
		Code   core.Code
	}
	Failure *core.Failure
}

func TestAMergeWithoutATerminalSaysWhatItDidInPlainLines(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	o := sluice(t, "merge", "--lake", lake, "db/events")
	o.want(t, 0, "db/events: merged 5 generations with 200 rows in 1 execution, base v", "db/events: 200 of 200 rows")
	if strings.ContainsAny(o.stdout+o.stderr, "\x1b\r") {
		t.Errorf("expected plain lines, got %q", o.stdout+o.stderr)
	}
	wantMerged(t, lake, "db/events")
	sluice(t, "merge", "--lake", lake, "db/events").want(t, 0, "db/events: nothing to do")
}

func TestAMergeInJSONSaysWhatItDid(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	o := sluice(t, "merge", "--lake", lake, "--json", "db/events")
	o.want(t, 0)
	got := decode[result](t, o.stdout)
	if got.Outcome != "merged" || got.Generations != 5 || got.Rows != 200 || got.To <= got.From || got.Failure != nil ||
		len(got.Executions) != 1 || !got.Executions[0].Merged || o.stderr != "" {
		t.Errorf("got %+v and %q", got, o.stderr)
	}
	wantMerged(t, lake, "db/events")
	o = sluice(t, "merge", "--lake", lake, "--json", "db/events")
	o.want(t, 0)
	if again := decode[result](t, o.stdout); again.Outcome != "nothing_to_do" || again.To != got.To || len(again.Executions) != 0 {
		t.Errorf("got %+v", again)
	}
}

func TestAMergeBesideARunningDevIsDoneByIt(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	// It looks at its tables by itself only after an hour, but for the first time.
	d := startDev(t, lake, "--owned", "db/events", "--poll", "1h")
	d.waitLog("release execution 1: merged")
	_, err := clients.WriteGenerations(t.Context(), stock.Table{URI: filepath.Join(lake, "db/events.lance")}, 3, 10, copyOf(t, record))
	must(t, err)
	o := sluice(t, "merge", "--lake", lake, "--json", "db/events")
	o.want(t, 0)
	got := decode[result](t, o.stdout)
	if got.Outcome != "merged" || got.Generations != 3 || len(got.Executions) != 1 || got.Executions[0].Number != 2 {
		t.Errorf("expected 3 generations by execution 2, got %+v", got)
	}
	if !strings.Contains(d.logged(), "release execution 2: merged") {
		t.Errorf("expected dev to merge: %s", d.logged())
	}
	d.stop()
}

func TestDevRefusesToMergeWhatItDoesNotOwn(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	d := startDev(t, lake)
	o := sluice(t, "merge", "--lake", lake, "db/events")
	o.want(t, 1, "not owned there: restart dev with --owned db/events")
	o.wantOneLine(t)
	d.stop()
	wantUnmerged(t, lake, "db/events")
}

func TestAFileThatNamesADeadProcessIsInNobodysWay(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	d := startDev(t, lake)
	d.kill()
	if _, err := os.Stat(filepath.Join(lake, "_sluice/process.json")); err != nil {
		t.Fatalf("a killed dev leaves its file: %v", err)
	}
	sluice(t, "merge", "--lake", lake, "db/events").want(t, 0, "merged 5 generations")
	wantMerged(t, lake, "db/events")
}

func TestABadShardFailsTheMergeAndTheOthersAreMerged(t *testing.T) {
	t.Parallel()
	lake := newLake(t)
	table := stock.Table{URI: filepath.Join(lake, "t.lance")}
	must(t, clients.CreateSharded(t.Context(), table, stock.Rows{To: 10}, ""))
	good, err := clients.ShardWrite(t.Context(), table, "", &stock.Rows{From: 20, To: 30}, nil, "")
	must(t, err)
	bad, err := clients.ShardWrite(t.Context(), table, "", &stock.Rows{From: 40, To: 50}, nil, "")
	must(t, err)
	gone, err := filepath.Glob(filepath.Join(lake, "t.lance/_mem_wal", bad.Shard, "*_gen_1"))
	must(t, err)
	must(t, os.RemoveAll(gone[0]))

	o := sluice(t, "merge", "--lake", lake, "--json", "t")
	o.want(t, 1, "E_SSTABLE_MISSING", bad.Shard, "generation 1")
	got := decode[result](t, o.stdout)
	if got.Outcome != "failed" || got.Failure == nil || got.Failure.Code != core.CodeSSTableMissing || got.Failure.Shard != core.ShardID(bad.Shard) {
		t.Errorf("expected a failure that names the shard, got %+v", got)
	}
	s, err := clients.State(t.Context(), table)
	must(t, err)
	if s.Marks[good.Shard] != 1 || s.Marks[bad.Shard] != 0 {
		t.Errorf("expected the good shard %s to be merged and the bad %s not, got marks %v", good.Shard, bad.Shard, s.Marks)
	}
}

func TestAnAdoptedTableHasANewIDAndIsMergedAsBefore(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	adopted := func() core.TableID {
		o := sluice(t, "adopt", "--lake", lake, "--json", "db/events")
		o.want(t, 0)
		return decode[struct {
			ID core.TableID `json:"table_id"`
		}](t, o.stdout).ID
	}
	first, second := adopted(), adopted()
	if first == "" || first == second {
		t.Errorf("expected two ids, got %q and %q", first, second)
	}
	sluice(t, "merge", "--lake", lake, "db/events").want(t, 0, "merged 5 generations")
	wantMerged(t, lake, "db/events")
}

func TestATableWhoseStateWasLostIsClosedUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	sluice(t, "merge", "--lake", lake, "db/events").want(t, 0, "merged 5 generations")
	for _, name := range []string{"state.db", "lake.json"} {
		must(t, os.Remove(filepath.Join(lake, "_sluice", name)))
	}
	written := copyOf(t, record)
	table := stock.Table{URI: filepath.Join(lake, "db/events.lance")}
	_, err := clients.WriteGenerations(t.Context(), table, 1, 10, written)
	must(t, err)
	o := sluice(t, "merge", "--lake", lake, "db/events")
	o.want(t, 1, "E_LAKE_CHANGED", "run `sluice adopt db/events`")
	o.wantOneLine(t)
	sluice(t, "adopt", "--lake", lake, "db/events").want(t, 0)
	sluice(t, "merge", "--lake", lake, "db/events").want(t, 0, "merged 1 generation with 10 rows")
	c, err := clients.Compare(t.Context(), stock.File(written), stock.BaseOf(table))
	must(t, err)
	if !c.Equal {
		t.Error(c)
	}
}

func TestAdoptBesideARunningDevIsDoneByIt(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	d := startDev(t, lake)
	o := sluice(t, "adopt", "--lake", lake, "db/events")
	o.want(t, 0, "db/events: adopted with the new id", "can't land any more")
	target, err := d.api.Target(t.Context(), "db/events")
	must(t, err)
	if !strings.Contains(o.stdout, string(target.TableID)) || target.TableID == "" {
		t.Errorf("dev shows the id %q, adopt printed %s", target.TableID, o.stdout)
	}
	d.stop()
}

func TestVersionIsStamped(t *testing.T) {
	t.Parallel()
	sluice(t, "version").want(t, 0, "sluice "+stampedVersion, "pylance 14.0.2")
	sluice(t, "version", "--json").want(t, 0, `"version": "`+stampedVersion+`"`)
	sluice(t, "completion", "bash").want(t, 0, "__start_sluice")
	sluice(t, "--help").want(t, 0, "merge", "dev", "adopt", "mode", "policy", "drain", "failures", "version")
}

// copyOf is a record that a test may go on writing.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "record")
	must(t, os.WriteFile(to, nil, 0o644))
	replace(t, path, to)
	return to
}
