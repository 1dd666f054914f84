package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// A fleet rolls over. While a master and a worker without the capability are registered, owned merges are
// refused with mode_disagreement; once they are gone they run. Then one table is drained, is empty, becomes
// direct, is owned again and merges, all while the merges of another table go on at their rate.
func TestAFleetRollsOverTableByTable(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--owned", "")
	copyTable(t, events, f.lake, "db/busy")
	old := f.store()
	registerOld(t, old, "db/events", "db/busy")
	m := f.start("master", "--id", "m1", "--poll", "500ms")
	f.start("worker", "--endpoint", "w1", "--slots", "2")
	kv := f.store()
	until(t, kv, "old and new are registered", func(v *core.View) bool { return len(v.Masters) == 2 && len(v.Workers) == 2 })
	for _, table := range []string{"db/events", "db/busy"} {
		sluice(t, "mode", "--http", m.api.URL, table, "owned").want(t, 0, table+": owned")
		var p *rest.Problem
		if _, err := m.api.Merge(t.Context(), core.Target(table), false); !errors.As(err, &p) || p.Reason != core.ReasonModeDisagreement {
			t.Errorf("expected the merge of %s to be refused with mode_disagreement, got %v", table, err)
		}
	}
	target, err := m.api.Target(t.Context(), "db/events")
	must(t, err)
	if target.Reason != core.ReasonModeDisagreement || target.Running != nil {
		t.Errorf("expected nothing to run beside an old process, got %+v", target)
	}
	must(t, old.Close())
	until(t, kv, "the old ones are gone", func(v *core.View) bool { return len(v.Masters) == 1 && len(v.Workers) == 1 })
	f.ask(m)
	if h := over(t, m, "db/events", 1); !h.Merged || h.Execution.Endpoint != "w1" {
		t.Fatalf("expected an owned merge without the old ones, got %+v", h)
	}

	busy := startBusy(t, f, m)
	before := busy.pace(t, 5)
	sluice(t, "drain", "--http", m.api.URL, "--wait", "db/events").want(t, 0, "db/events: draining; nothing runs on it")
	sluice(t, "mode", "--http", m.api.URL, "db/events", "direct").want(t, 0, "db/events: direct")
	written := ownRecord(t)
	_, err = clients.WriteGenerations(t.Context(), stock.Table{URI: filepath.Join(f.lake, "db/events.lance")}, 1, 20, written)
	must(t, err)
	if target, err = m.api.Target(t.Context(), "db/events"); err != nil || target.Mode != core.Direct || target.Pending.Generations != 1 {
		t.Errorf("expected a direct table with one generation, got %+v, %v", target, err)
	}
	during := busy.pace(t, 5)
	sluice(t, "mode", "--http", m.api.URL, "db/events", "owned").want(t, 0, "db/events: owned")
	f.ask(m)
	if h := over(t, m, "db/events", 2); !h.Merged {
		t.Errorf("expected the table to merge once it is owned again, got %+v", h)
	}
	after := busy.pace(t, 5)
	busy.end(t)
	t.Logf("a merge of the other table took %v before, %v while the table was away, %v after", before, during, after)
	if limit := 3*before + time.Second; during > limit || after > limit {
		t.Errorf("the merges of another table slowed down from %v to %v and %v", before, during, after)
	}
	wantUncharged(t, records(t, kv), "db/busy")
}

// registerOld registers a master and a worker as a binary before owned merges does: they declare as the others
// do and name no capability. They go with the store.
func registerOld(t *testing.T, s *etcd.Store, owned ...core.Target) {
	t.Helper()
	declares := core.Declaration{Owned: owned}
	master := core.MasterRecord{ID: "old", Instance: "old-master", Address: "http://127.0.0.1:9", Declares: declares}
	worker := core.WorkerRecord{Endpoint: "old", Instance: "old-worker", Address: "http://127.0.0.1:9", Slots: 1, Declares: declares}
	a, err := s.Commit(t.Context(), core.Txn{Name: "register", Then: []core.Op{
		core.PutLeased(core.MasterKey("old"), core.Encode(master)), core.PutLeased(core.WorkerKey("old"), core.Encode(worker)),
	}})
	must(t, err)
	if a.Outcome != core.Applied {
		t.Fatalf("expected the old ones to be registered, the outcome is %v", a.Outcome)
	}
}

// busy is a table that is written and merged again and again.
type busy struct {
	merged  chan time.Duration
	stop    chan struct{}
	working sync.WaitGroup
	err     error // read after working
}

func startBusy(t *testing.T, f *fleetOf, m *running) *busy {
	t.Helper()
	written := ownRecord(t)
	b := &busy{merged: make(chan time.Duration, 1000), stop: make(chan struct{})}
	table := stock.Table{URI: filepath.Join(f.lake, "db/busy.lance")}
	b.working.Go(func() {
		for after := uint64(0); ; {
			select {
			case <-b.stop:
				return
			default:
			}
			if _, b.err = clients.WriteGenerations(t.Context(), table, 1, 20, written); b.err != nil {
				return
			}
			began := time.Now()
			if _, b.err = m.api.Merge(t.Context(), "db/busy", false); b.err != nil {
				return
			}
			every := time.NewTicker(20 * time.Millisecond)
			for done := false; !done; <-every.C {
				list, err := m.api.Executions(t.Context(), "db/busy", after)
				if err != nil || t.Context().Err() != nil {
					b.err = err
					return
				}
				if done = len(list) > 0; done {
					after = list[len(list)-1].Execution.Number
				}
			}
			every.Stop()
			b.merged <- time.Since(began)
		}
	})
	return b
}

// pace is the mean time of the next n merges.
func (b *busy) pace(t *testing.T, n int) (mean time.Duration) {
	t.Helper()
	for len(b.merged) > 0 {
		<-b.merged // of before
	}
	for range n {
		select {
		case d := <-b.merged:
			mean += d / time.Duration(n)
		case <-time.After(30 * time.Second):
			t.Fatal("the other table is not merged any more")
		}
	}
	return mean
}

func (b *busy) end(t *testing.T) {
	t.Helper()
	close(b.stop)
	b.working.Wait()
	must(t, b.err)
}

// ownRecord is a copy of what the writers of events have recorded, to be gone on from.
func ownRecord(t *testing.T) string {
	t.Helper()
	body, err := os.ReadFile(record)
	must(t, err)
	path := filepath.Join(t.TempDir(), "record")
	must(t, os.WriteFile(path, body, 0o600))
	return path
}
