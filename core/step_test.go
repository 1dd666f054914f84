package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// found is the one transaction with that name among the effects.
func found(t *testing.T, name string, effects []core.Effect) core.Commit {
	t.Helper()
	for _, e := range effects {
		if c, ok := e.(core.Commit); ok && c.Txn.Name == name {
			return c
		}
	}
	t.Fatalf("no %s among %+v", name, effects)
	return core.Commit{}
}

func recordsOf(c core.Commit, rev core.Revision) (out []core.Record) {
	for _, op := range c.Txn.Then {
		if op.Op == core.OpPut {
			out = append(out, core.Record{Key: op.Key, Value: op.Value, Mod: rev})
		}
	}
	return out
}

// A worker that has not heard from the KV yet knows no mode, and must let no client raise marks meanwhile.
func TestAWorkerThatKnowsNothingLetsNobodyRaiseMarks(t *testing.T) {
	t.Parallel()
	w := core.NewWorker(core.WorkerConfig{Endpoint: "w1", Instance: "w1/2"})
	if m := w.Mode("events"); m == core.Direct {
		t.Errorf("before the first snapshot an owned table is %q: a client's merge of it goes through the gate", m)
	}
	w = core.NewWorker(core.WorkerConfig{Endpoint: "w1", Instance: "w1/2"})
	w.Step(core.Moment{}, core.Changed{Revision: 1, Reset: true, Puts: []core.Record{{Key: core.PolicyKey("events"), Value: `{"mode":"owned","newer":1}`, Mod: 1}}})
	if m := w.Mode("events"); m == core.Direct {
		t.Errorf("with a policy that can't be read it is %q", m)
	}
}

// An Attend that is slow arrives after the Release of the very execution that it speaks of.
func TestAttentionIsNotRaisedAfterTheRelease(t *testing.T) {
	t.Parallel()
	tv := core.NewView().Target("t")
	txn := core.Attend(core.Execution{ID: "e1", Target: "t"}, tv.Failure("t", core.Unowned), core.Failure{Code: core.CodeStorage, Detail: "a blip"}, 1)
	for _, c := range txn.If {
		if c.Key == core.ExecutionKey("t") || c.Key == core.OwnerKey("t") {
			return
		}
	}
	t.Errorf("%s: nothing in it says that the execution is still there", txn)
}

// A table of many shards must be refused before it is reserved, or be released.
func TestWhatCanBeStartedCanBeReleased(t *testing.T) {
	t.Parallel()
	for _, n := range []int{300, 3000, 6000, 6500, 7000, 8000, 9000} {
		var marks core.Marks
		table := core.Table{Target: "t", Base: core.BaseManifest{Version: 9, MemWAL: true, PrimaryKey: true}}
		var shards []core.ShardID
		for i := range n {
			s := core.ShardID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", i))
			shards = append(shards, s)
			marks = append(marks, core.Mark{Shard: s, Generation: 100})
			table.Shards = append(table.Shards, core.ShardManifest{Shard: s, SSTables: []core.SSTable{{Generation: 101, Path: "p"}}})
		}
		table.Base.Marks = marks
		reserved := core.Execution{ID: "x", Number: 1, Target: "t", Kind: core.KindMerge, Phase: core.Reserved, Endpoint: "w", Charge: core.Unowned, Shards: shards}
		running := core.Started(reserved, "w/1", "n", 9, marks, nil, 1)
		start := kv.Check(core.Start(reserved, running))
		_, freeze := core.Freeze(running, nil, core.Failure{Code: core.CodeWorkerGone}, "m", 1)
		done := running
		done.Phase = core.Finished
		release := kv.Check(core.Release(core.Released{Execution: done, Table: table, Target: core.NewView().Target("t"), At: 1}))
		if f := kv.Check(freeze); start == nil && (f != nil || release != nil) {
			t.Errorf("%d shards: start is fine, freeze: %v, release: %v", n, f, release)
		}
	}
}

// A person asks for an adoption while the master looks at the table to reserve it, and finds it without an id: the
// adoption that it begins by itself takes the place of the person's, who is never answered.
func TestWhoAsksForAnAdoptionIsAnswered(t *testing.T) {
	t.Parallel()
	at := func(s int) core.Moment {
		return core.Moment{Mono: core.MonoTime(time.Duration(s) * time.Second), Fresh: fmt.Sprint("f", s)}
	}
	owned := core.Declaration{Owned: []core.Target{"t"}}
	m := core.NewMaster(core.MasterConfig{ID: "m1", Instance: "m1/1", Declares: owned})
	put := func(key string, value any, mod core.Revision) core.Record {
		return core.Record{Key: key, Value: core.Encode(value), Mod: mod}
	}
	reg := found(t, "register", m.Step(at(0), core.Changed{Revision: 5, Reset: true, Puts: []core.Record{
		put(core.WorkerKey("w1"), core.WorkerRecord{Endpoint: "w1", Instance: "w1/1", Slots: 1, Bytes: 1 << 30, Declares: owned, Capabilities: []core.Capability{core.OwnedMerge}}, 2),
		put(core.LoadKey("w1"), core.Load{Endpoint: "w1", Instance: "w1/1", Accepting: true, Slots: 1, Bytes: 1 << 30}, 2),
		put(core.ModeKey("t"), core.Latch{Mode: core.Owned}, 3),
		put(core.TableKey("t"), core.TableRecord{ID: "old", Path: "t.lance", Scheme: core.V2, Adopted: 2, LastSeen: 2}, 4),
		put(core.DemandKey("t"), core.Demand{First: 1, Last: 1, Shards: []core.ShardID{"s1"}, Reasons: []string{"sweep"}}, 5),
	}}))
	effects := m.Step(at(0), core.Committed{Effect: reg.ID, Outcome: core.Applied, Revision: 6})
	effects = append(effects, m.Step(at(0), core.Changed{Revision: 6, Puts: recordsOf(reg, 6)})...)
	// The user has replaced the metadata: the id is gone.
	table := core.Table{Target: "t", Base: core.BaseManifest{Version: 9, Scheme: core.V2, MemWAL: true, PrimaryKey: true},
		Shards: []core.ShardManifest{{Shard: "s1", Version: 1, SSTables: []core.SSTable{{Generation: 1, Size: 1}}}}}
	kv := map[string]core.Record{}
	rev, answered, asked := core.Revision(6), false, false
	for i := 0; i < 200 && len(effects) > 0; i++ {
		e := effects[0]
		effects = effects[1:]
		switch e := e.(type) {
		case core.Survey:
			if i > 0 && !asked { // the first look is the sweep's, the second is to reserve it
				asked = true
				effects = append(effects, m.Step(at(1), core.AdoptRequested{Request: 77, Target: "t"})...)
			}
			effects = append(effects, m.Step(at(1), core.Surveyed{Effect: e.ID, Table: table})...)
		case core.Commit:
			rev++
			var puts []core.Record
			for _, op := range e.Txn.Then {
				if op.Op == core.OpPut {
					kv[op.Key] = core.Record{Key: op.Key, Value: op.Value, Mod: rev}
					puts = append(puts, kv[op.Key])
				}
			}
			effects = append(effects, m.Step(at(1), core.Changed{Revision: rev, Puts: puts})...)
			effects = append(effects, m.Step(at(1), core.Committed{Effect: e.ID, Outcome: core.Applied, Revision: rev})...)
		case core.Read:
			effects = append(effects, m.Step(at(1), core.ReadDone{Effect: e.ID, OK: true, Revision: rev, Records: []core.Record{kv[core.TableKey("t")]}})...)
		case core.PutFence:
			table.Base.Version, table.Base.TableID = e.Version, e.TableID
			if e.Resource != core.Base {
				table.Base.Version--
			}
			effects = append(effects, m.Step(at(1), core.FenceDone{Effect: e.ID, Outcome: core.Applied})...)
		case core.AnswerMerge:
			answered = answered || e.Request == 77
		case core.Note:
			t.Log(e.Text)
		}
	}
	for s := 2; s < 3600; s++ {
		for _, e := range m.Step(at(s), core.Tick{}) {
			if a, ok := e.(core.AnswerMerge); ok {
				answered = answered || a.Request == 77
			}
		}
	}
	if !asked {
		t.Fatal("the story is wrong: nothing was looked at twice")
	}
	if !answered {
		t.Error("an hour later nobody has answered who asked for the adoption")
	}
}

// A failure that names its shard is that shard's, also where its class is not "data": an SSTable whose columns don't fit
// the base is E_TABLE_FORMAT with shard and generation (sstable.py names them), and the others must go on.
func TestAFailureThatNamesItsShardStopsNoOther(t *testing.T) {
	t.Parallel()
	for _, code := range []core.Code{core.CodeSSTableCorrupt, core.CodeTableFormat} {
		r := core.FailureRecord{Target: "t", Endpoint: core.Unowned}
		r = r.Charged(core.Failure{Code: code, Shard: "s1", Generation: 3}, 1)
		if due := r.Due([]core.ShardID{"s1", "s2"}, time.Minute); len(due) != 1 || due[0] != "s2" {
			t.Errorf("%s of s1: a minute later %v may be tried, expected s2", code, due)
		}
	}
}

// A KV that answers reads and takes no writes (a full disk, etcd's NOSPACE alarm): a write of unknown outcome is read
// back at once and tried again at once. It must be tried again, but not without a pause.
func TestAWriteThatFailsIsNotTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	at := core.Moment{Mono: 1, Fresh: "f"}
	w := core.NewWorker(core.WorkerConfig{Endpoint: "w1", Instance: "w1/1", Slots: 1})
	reg := found(t, "register", w.Step(at, core.Changed{Revision: 1, Reset: true}))
	w.Step(at, core.Committed{Effect: reg.ID, Outcome: core.Applied, Revision: 2})
	w.Step(at, core.Changed{Revision: 2, Puts: recordsOf(reg, 2)})
	e := core.Execution{ID: "x", Number: 1, Target: "t", Kind: core.KindMerge, Phase: core.Reserved, Endpoint: "w1", TableID: "id", Scheme: core.V2, Shards: []core.ShardID{"s1"}}
	table := core.Table{Target: "t", Base: core.BaseManifest{Version: 9, Scheme: core.V2, TableID: "id", MemWAL: true, PrimaryKey: true},
		Shards: []core.ShardManifest{{Shard: "s1", Version: 1, SSTables: []core.SSTable{{Generation: 1, Size: 1}}}}}
	reserved := []core.Record{{Key: core.OwnerKey("t"), Value: core.Encode(e.ID), Mod: 2}, {Key: core.ExecutionKey("t"), Value: core.Encode(e), Mod: 2}}
	effects, tried := w.Step(at, core.StartRequested{Request: 1, Execution: e}), map[string]int{}
	for i := 0; i < 3000 && len(effects) > 0; i++ { // no time passes
		effect := effects[0]
		effects = effects[1:]
		switch effect := effect.(type) {
		case core.Survey:
			effects = append(effects, w.Step(at, core.Surveyed{Effect: effect.ID, Table: table})...)
		case core.PutNumber:
			effects = append(effects, w.Step(at, core.NumberDone{Effect: effect.ID})...)
		case core.Commit:
			tried[effect.Txn.Name]++
			effects = append(effects, w.Step(at, core.Committed{Effect: effect.ID, Outcome: core.Unknown})...)
		case core.Read:
			effects = append(effects, w.Step(at, core.ReadDone{Effect: effect.ID, OK: true, Revision: 2, Records: reserved})...)
		}
	}
	if tried["start"] > 3 {
		t.Errorf("in no time at all: %v", tried)
	}
}

// A newer Sluice writes the table's record while an older master looks at the table to reserve it. A record that can't be
// read must stop it, not look like a table that was never adopted.
func TestARecordThatCantBeReadIsNotAdoptedOver(t *testing.T) {
	t.Parallel()
	at := func(s int) core.Moment {
		return core.Moment{Mono: core.MonoTime(time.Duration(s) * time.Second), Fresh: fmt.Sprint("f", s)}
	}
	owned := core.Declaration{Owned: []core.Target{"t"}}
	m := core.NewMaster(core.MasterConfig{ID: "m1", Instance: "m1/1", Declares: owned})
	put := func(key string, value any, mod core.Revision) core.Record {
		return core.Record{Key: key, Value: core.Encode(value), Mod: mod}
	}
	rec := core.TableRecord{ID: "id", Path: "t.lance", Scheme: core.V2, Adopted: 2, LastSeen: 2}
	reg := found(t, "register", m.Step(at(0), core.Changed{Revision: 5, Reset: true, Puts: []core.Record{
		put(core.WorkerKey("w1"), core.WorkerRecord{Endpoint: "w1", Instance: "w1/1", Slots: 1, Bytes: 1 << 30, Declares: owned, Capabilities: []core.Capability{core.OwnedMerge}}, 2),
		put(core.LoadKey("w1"), core.Load{Endpoint: "w1", Instance: "w1/1", Accepting: true, Slots: 1, Bytes: 1 << 30}, 2),
		put(core.ModeKey("t"), core.Latch{Mode: core.Owned}, 3),
		put(core.TableKey("t"), rec, 4),
		put(core.DemandKey("t"), core.Demand{First: 1, Last: 1, Shards: []core.ShardID{"s1"}, Reasons: []string{"sweep"}}, 5),
	}}))
	effects := m.Step(at(0), core.Committed{Effect: reg.ID, Outcome: core.Applied, Revision: 6})
	effects = append(effects, m.Step(at(0), core.Changed{Revision: 6, Puts: recordsOf(reg, 6)})...)
	table := core.Table{Target: "t", Base: core.BaseManifest{Version: 9, TableID: "id", Scheme: core.V2, MemWAL: true, PrimaryKey: true},
		Shards: []core.ShardManifest{{Shard: "s1", Version: 1, SSTables: []core.SSTable{{Generation: 1, Size: 1}}}}}
	looks := 0
	for i := 0; i < 50 && len(effects) > 0; i++ {
		e := effects[0]
		effects = effects[1:]
		switch e := e.(type) {
		case core.Survey:
			if looks++; looks == 2 {
				newer := core.Encode(rec)
				newer = newer[:len(newer)-1] + `,"of_a_newer_sluice":1}`
				m.Step(at(1), core.Changed{Revision: 7, Puts: []core.Record{{Key: core.TableKey("t"), Value: newer, Mod: 7}}})
			}
			effects = append(effects, m.Step(at(1), core.Surveyed{Effect: e.ID, Table: table})...)
		case core.Commit:
			if e.Txn.Name == "begin-adoption" {
				t.Fatalf("it adopts the table anew, over the record: %s", e.Txn)
			}
		}
	}
	if looks < 2 {
		t.Fatal("the story is wrong: it did not look to reserve")
	}
}
