package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func TestAModeIsChangedWithoutARunningDevAndTheNextOneGoesByIt(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	sluice(t, "mode", "--lake", lake, "db/events", "owned").want(t, 0, "db/events: owned\n")
	sluice(t, "mode", "--lake", lake, "db/events", "owned").want(t, 0, "db/events: owned, as before\n")
	wantUnmerged(t, lake, "db/events") // a command that changes a mode merges nothing itself
	d := startDev(t, lake)
	d.waitLog("release execution 1: merged")
	d.stop()
	wantMerged(t, lake, "db/events")
	o := sluice(t, "drain", "--lake", lake, "--json", "db/events")
	o.want(t, 0)
	if a := decode[rest.Moded](t, o.stdout); a.Mode != core.Draining || !a.Changed || a.Running != nil {
		t.Errorf("got %+v", a)
	}
	sluice(t, "mode", "--lake", lake, "db/events", "direct").want(t, 0, "db/events: direct\n")
}

func TestAModeDoesNotComeDownAgainstARunningDev(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	d := startDev(t, lake, "--owned", "db/events")
	d.waitLog("release execution 1: merged")
	o := sluice(t, "mode", "--lake", lake, "db/events", "direct")
	o.want(t, 1, "declares db/events owned", "MERGE_OWNED_TARGETS", "restart it")
	o.wantOneLine(t)
	sluice(t, "drain", "--lake", lake, "--wait", "db/events").want(t, 0, "db/events: draining; nothing runs on it\n")
	if target, err := d.api.Target(t.Context(), "db/events"); err != nil || target.Mode != core.Draining {
		t.Errorf("expected a draining table, got %+v, %v", target, err)
	}
	d.stop()
}

func TestAPolicyIsShownReplacedAndRefused(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	d := startDev(t, lake)
	file := filepath.Join(t.TempDir(), "policy.json")
	must(t, os.WriteFile(file, []byte(`{"mode": "owned", "pass_generations": 2, "pending_generations": 1}`), 0o600))
	sluice(t, "policy", "--lake", lake, "db/events").want(t, 0, "{}")
	o := sluice(t, "policy", "--lake", lake, "--json", "db/events", "--set", file)
	o.want(t, 0)
	if p := decode[rest.TargetPolicy](t, o.stdout); p.Target != "db/events" || p.Policy.Mode != core.Owned || *p.Policy.PassGenerations != 2 {
		t.Errorf("got %+v", p)
	}
	d.waitLog("execution 1 runs: 2 generations") // the policy owns the table and bounds its passes
	d.stop()
}

func TestFailuresAreListedAndForgotten(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	first, err := filepath.Glob(filepath.Join(lake, "db/events.lance/_mem_wal/*/*_gen_1"))
	must(t, err)
	must(t, os.RemoveAll(first[0]))
	sluice(t, "failures", "--lake", lake).want(t, 0, "no failures\n")
	d := startDev(t, lake, "--owned", "db/events")
	d.waitLog("release execution 1: ")
	o := sluice(t, "failures", "--lake", lake, "--json", "db/events")
	o.want(t, 0)
	list := decode[rest.MergeFailures](t, o.stdout).Failures
	if len(list) != 1 || list[0].Target != "db/events" || list[0].Attempts != 1 {
		t.Fatalf("expected one failure of the table, got %+v", list)
	}
	endpoint := string(list[0].Endpoint)
	sluice(t, "failures", "--lake", lake).want(t, 0, "db/events on "+endpoint, "1 failure in a row")
	sluice(t, "failures", "--lake", lake, "db/other").want(t, 0, "no failures\n")
	sluice(t, "failures", "--lake", lake, "--forget", "w9").want(t, 0, "w9: nothing to forget\n")
	sluice(t, "failures", "--lake", lake, "db/events", "--forget", endpoint).want(t, 0, endpoint+": failures forgotten on 1 table\n")
	d.waitLog("execution 2 runs") // at once, though a failure of the data is tried again hourly
	d.stop()
}

func TestAWorkerOfAFleetIsDrainedThroughItsMaster(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(tokens, []byte("fleet 0123456789abcdef-fleet\noperator 0123456789abcdef-operator\nreader 0123456789abcdef-reader\n"), 0o600))
	f := newFleet(t, "--tokens", tokens)
	m := f.master()
	f.worker("w1")
	ask := func(role string, args ...string) outcome {
		return sluiceWith(t, []string{"SLUICE_TOKEN=0123456789abcdef-" + role}, append(args, "--http", m.api.URL)...)
	}
	await(t, 20*time.Second, func() (bool, string) {
		o := ask("operator", "drain", "--worker", "w1", "--wait")
		return o.code == 0 && o.stdout == "w1: takes nothing new, 0 executions under way\n", o.stdout + o.stderr
	})
	ask("operator", "drain", "--worker", "w2").want(t, 1, `no live worker is registered as "w2"`)
	ask("reader", "drain", "--worker", "w1").want(t, 1, "this takes the role operator")
	ask("reader", "failures").want(t, 0, "no failures\n")
	ask("nobody", "failures").want(t, 1, "show a token")
	ask("operator", "mode", "db/events", "direct").want(t, 1, "declares db/events owned")
	// The table is free again once who declares it has ended, and another master, which declares nothing, is asked.
	f.worker("w2")
	m.api.Caller = rest.NewCaller("0123456789abcdef-operator", nil)
	f.ask(m)
	f.waitMerged(m)
	o := ask("operator", "policy", "--json", "db/events")
	o.want(t, 0)
	if !strings.Contains(o.stdout, `"target": "db/events"`) {
		t.Errorf("got %s", o.stdout)
	}
}
