package main_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/core"
)

// A table with a broken SSTable fails and its budget says so. The record stays the same, to the letter, while
// it is read, while merges are asked for, while master and worker are killed, stopped and started again, also
// under new names; a second failure adds to it; and only the merge that succeeds clears it.
func TestRetainedRetryBudgets(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--etcd-lease", "1s", "--probe", "300ms", "--poll", "500ms")
	kv := f.store()
	broken, err := filepath.Glob(filepath.Join(f.lake, "db/events.lance/_mem_wal/*/*_gen_1"))
	must(t, err)
	aside := filepath.Join(t.TempDir(), "gen_1")
	must(t, os.Rename(broken[0], aside))
	m, w := f.master(), f.worker("w1")
	f.ask(m)
	if h := over(t, m, "db/events", 1); h.Merged || h.Failure.Code.Class() != core.Data {
		t.Fatalf("expected a failure of the data, got %+v", h)
	}
	budgets := func() []core.FailureRecord {
		var all []core.FailureRecord
		for _, f := range records(t, kv).Target("db/events").Failures {
			all = append(all, f.Value)
		}
		return all
	}
	first := budgets()
	if len(first) != 1 || first[0].Attempts != 1 || !first[0].Attention {
		t.Fatalf("expected one failure that needs attention, found %+v", first)
	}
	kept := func(after string) {
		t.Helper()
		if now := budgets(); !reflect.DeepEqual(now, first) {
			t.Errorf("after %s the budget is %+v, expected %+v", after, now, first)
		}
	}
	for range 3 {
		list, err := m.api.Failures(t.Context())
		must(t, err)
		if len(list) != 1 || list[0].Attempts != 1 {
			t.Errorf("the list of failures is %+v", list)
		}
		sluice(t, "failures", "--http", m.api.URL).want(t, 0, "1 failure in a row")
		f.ask(m) // which is demand, and no word that somebody has mended it
	}
	kept("reads and demand")
	m.kill()
	m = f.start("master", "--id", "m2", "--owned", "db/events")
	f.ask(m)
	kept("a killed master and a new one")
	w.kill()
	w = f.worker("w1")
	registered := func(w *running) func(*core.View) bool {
		return func(v *core.View) bool { return len(v.Workers) == 1 && v.Workers[0].Value.Address == w.api.URL }
	}
	until(t, kv, "the worker is registered again", registered(w))
	f.ask(m)
	kept("a killed worker that came back")
	w.signal(unix.SIGTERM)
	w.wantEnd(0, 40*time.Second)
	w = f.worker("w2")
	until(t, kv, "the other worker is registered", registered(w))
	f.ask(m)
	m.signal(unix.SIGTERM)
	m.wantEnd(0, 40*time.Second)
	m = f.master()
	f.ask(m)
	kept("a worker with another name and a master that was stopped")
	if list, err := m.api.Executions(t.Context(), "db/events", 0); err != nil || len(list) != 1 {
		t.Errorf("expected no further try before its hour is over, found %+v, %v", list, err)
	}
	_, err = m.api.Merge(t.Context(), "db/events", true) // a person tries again, and it still fails
	must(t, err)
	over(t, m, "db/events", 2)
	if now := budgets(); len(now) != 1 || now[0].Attempts != 2 {
		t.Errorf("expected a second attempt beside the first, found %+v", now)
	}
	must(t, os.Rename(aside, broken[0]))
	_, err = m.api.Merge(t.Context(), "db/events", true)
	must(t, err)
	if h := over(t, m, "db/events", 3); !h.Merged {
		t.Fatalf("expected the mended table to merge, got %+v", h)
	}
	sluice(t, "failures", "--http", m.api.URL).want(t, 0, "no failures\n")
	f.waitMerged(m)
}
