package core_test

import (
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

// cleaning plays a worker that runs a cleanup of one table up to the first thing that it writes about it.
type cleaning struct {
	t      *testing.T
	worker *core.Worker
	at     core.Moment
	table  core.Table
	policy string
}

// firstWrite is the first transaction of the cleanup itself; empty if it ended without one.
func (c cleaning) firstWrite() core.Txn {
	c.t.Helper()
	e := core.Execution{ID: "x", Number: 1, Target: "t", Kind: core.KindCleanup, Phase: core.Reserved, Endpoint: "w1", TableID: "id"}
	records := map[string]string{core.OwnerKey("t"): core.Encode(e.ID), core.ExecutionKey("t"): core.Encode(e)}
	if c.policy != "" {
		records[core.PolicyKey("t")] = c.policy
	}
	queue := append(c.worker.Step(c.at, core.Changed{Revision: 1, Reset: true}), c.worker.Step(c.at, core.Tick{})...)
	started := false
	for rev := core.Revision(2); rev < 100; rev++ {
		if len(queue) == 0 && !started {
			queue, started = c.worker.Step(c.at, core.StartRequested{Request: 1, Execution: e}), true
			continue
		}
		if len(queue) == 0 {
			return core.Txn{}
		}
		next := queue[0]
		queue = queue[1:]
		switch next := next.(type) {
		case core.Commit:
			switch next.Txn.Name {
			case "reclaim":
				return next.Txn
			case "finish":
				return core.Txn{}
			}
			var puts []core.Record
			for _, op := range next.Txn.Then {
				if op.Op == core.OpPut {
					records[op.Key] = op.Value
					puts = append(puts, core.Record{Key: op.Key, Value: op.Value, Mod: rev})
				}
			}
			queue = append(queue, c.worker.Step(c.at, core.Committed{Effect: next.ID, Outcome: core.Applied, Revision: rev})...)
			if next.Txn.Name == "register" {
				queue = append(queue, c.worker.Step(c.at, core.Changed{Revision: rev, Puts: puts})...)
			}
		case core.Read:
			var read []core.Record
			for _, r := range next.Ranges {
				if v, ok := records[r.Key]; ok {
					read = append(read, core.Record{Key: r.Key, Value: v, Mod: rev})
				}
			}
			queue = append(queue, c.worker.Step(c.at, core.ReadDone{Effect: next.ID, OK: true, Revision: rev, Records: read})...)
		case core.Survey:
			queue = append(queue, c.worker.Step(c.at, core.Surveyed{Effect: next.ID, Table: c.table})...)
		case core.PutNumber:
			queue = append(queue, c.worker.Step(c.at, core.NumberDone{Effect: next.ID})...)
		}
	}
	c.t.Fatal("the cleanup goes on and on")
	return core.Txn{}
}

// merged is a table whose one SSTable was merged two days ago.
func merged(path string) core.Table {
	marks := core.Marks{{Shard: "s1", Generation: 1}}
	return core.Table{
		Target: "t",
		Base:   core.BaseManifest{Version: 2, TableID: "id", MemWAL: true, PrimaryKey: true, Marks: marks},
		Shards: []core.ShardManifest{{Shard: "s1", Version: 3, SSTables: []core.SSTable{{Generation: 1, Path: path}}}},
		Versions: []core.KeptVersion{
			{Version: 1, Age: 60 * 24 * time.Hour},
			{Version: 2, Age: 48 * time.Hour, Marks: marks},
		},
	}
}

func cleaner() *core.Worker {
	return core.NewWorker(core.WorkerConfig{
		Endpoint: "w1", Instance: "w1/1", Slots: 1, Kinds: []core.Kind{core.KindCleanup}, Graces: core.DefaultGraces,
	})
}

// A path decides what is deleted. One that is damaged must not name a whole shard, its manifests or something outside.
func TestOnlyADirectoryOfItsOwnIsReclaimed(t *testing.T) {
	t.Parallel()
	for path, goes := range map[string]bool{
		"0badcafe_gen_1": true, "": false, ".": false, "..": false, "manifest": false, "wal": false,
		"../s2/0badcafe_gen_1": false, "a/b": false, `a\b`: false, "%2e%2e": false,
	} {
		wrote := cleaning{t: t, worker: cleaner(), at: core.Moment{Fresh: "n"}, table: merged(path)}.firstWrite()
		if (wrote.Name == "reclaim") != goes {
			t.Errorf("path %q: expected that it is written down to be deleted: %v, wrote %v", path, goes, wrote)
		}
	}
}

// A policy says how long what is merged is kept. It is read where it counts: a worker's watch may lag behind, and of one
// that can't be read nothing is concluded (invariant 10).
func TestACleanupGoesByThePolicyThatIsInForce(t *testing.T) {
	t.Parallel()
	for policy, goes := range map[string]bool{
		"":                                      true,
		`{"reader_grace_seconds":3600}`:         true,
		`{"reader_grace_seconds":864000}`:       false,
		`{"reclaim_retention_seconds":8640000}`: false,
		`{"of_a_newer_sluice":1}`:               false,
	} {
		wrote := cleaning{t: t, worker: cleaner(), at: core.Moment{Fresh: "n"}, table: merged("0badcafe_gen_1"), policy: policy}.firstWrite()
		if (wrote.Name == "reclaim") != goes {
			t.Errorf("policy %q: expected that the SSTable is written down: %v, wrote %v", policy, goes, wrote)
		}
	}
}

// An execution was reserved for a process that could do it; the one that has its name now can't.
func TestAWorkerTakesNoMaintenanceThatItCannotDo(t *testing.T) {
	t.Parallel()
	w := core.NewWorker(core.WorkerConfig{Endpoint: "w1", Instance: "w1/2", Slots: 1, Kinds: []core.Kind{core.KindCompact}})
	at := core.Moment{Fresh: "n"}
	for _, effect := range w.Step(at, core.Changed{Revision: 1, Reset: true}) {
		if c, ok := effect.(core.Commit); ok && c.Txn.Name == "register" {
			w.Step(at, core.Committed{Effect: c.ID, Outcome: core.Applied, Revision: 2})
			w.Step(at, core.Changed{Revision: 2, Puts: recordsOf(c, 2)})
		}
	}
	for kind, refused := range map[core.Kind]core.Reason{core.KindCleanup: core.ReasonNoWorker, core.KindCompact: core.ReasonNone} {
		answered := false
		e := core.Execution{ID: core.ExecutionID(kind), Number: 1, Target: core.Target(kind), Kind: kind, Phase: core.Reserved, Endpoint: "w1"}
		for _, effect := range w.Step(at, core.StartRequested{Request: 1, Execution: e}) {
			if a, ok := effect.(core.AnswerStart); ok {
				answered = true
				if a.Refused != refused {
					t.Errorf("a start of %s: expected the reason %q, got %q", kind, refused, a.Refused)
				}
			}
		}
		if !answered {
			t.Errorf("a start of %s is not answered", kind)
		}
	}
}
