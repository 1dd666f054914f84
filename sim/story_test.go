package sim

import (
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

// A start is answered before it has been done, and the answer may come when the record shows it running.
func TestTheAnswerToAStartFreezesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.engines = engineScript{silent: true}
	w.faults.delay = func(kind, _ string) time.Duration {
		if kind == "rpc" {
			return 900 * time.Millisecond
		}
		return time.Millisecond
	}
	w.lake.place("events", newTable(1))
	w.lake.tables["events"].flush(w.lake.tables["events"].shards[0])
	w.addMaster("m1", core.Declaration{Owned: []core.Target{"events"}}, core.Limits{})
	w.addWorker("w1", core.WorkerConfig{Declares: core.Declaration{Owned: []core.Target{"events"}}})
	w.run(30*time.Second, never)
	if e := Get[core.Execution](w.kv, core.ExecutionKey("events")); e.Number != 1 || e.Phase != core.Running {
		t.Errorf("expected execution 1 to run, the table has execution %d %q", e.Number, e.Phase)
	}
}

// The id of a copy is that of its origin: adoption never takes over the id that it finds.
func TestAdoptionOverwritesTheID(t *testing.T) {
	t.Parallel()
	w := newWorld()
	table := newTable(1)
	table.versions[0].TableID = "of its origin"
	w.lake.place("events", table)
	w.addMaster("m1", core.Declaration{Owned: []core.Target{"events"}}, core.Limits{})
	w.addWorker("w1", core.WorkerConfig{Declares: core.Declaration{Owned: []core.Target{"events"}}})
	table.flush(table.shards[0])
	w.run(leaseTTL, func() bool { return Get[core.TableRecord](w.kv, core.TableKey("events")).Adopted > 0 })
	if id := table.head().TableID; id == "of its origin" || id != Get[core.TableRecord](w.kv, core.TableKey("events")).ID {
		t.Errorf("the table's id is %q, the KV's record says %q", id, Get[core.TableRecord](w.kv, core.TableKey("events")).ID)
	}
}
