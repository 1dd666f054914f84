package core_test

import (
	"testing"

	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/sim"
)

// ledger is a KV with one adopted table, for tests of single transactions.
type ledger struct {
	*testing.T
	kv *sim.KV
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{t, sim.NewKV()}
	l.must(core.Txn{Name: "set up", Then: []core.Op{
		core.Put(core.TableKey("events"), core.Encode(core.TableRecord{ID: "t1", Path: "events.lance", Scheme: core.V2, Adopted: 2, LastSeen: 2})),
		core.Put(core.DemandKey("events"), core.Encode(core.Demand{First: 10, Last: 20, Shards: []core.ShardID{"s1", "s2"}, Reasons: []string{"sweep"}})),
		core.PutLeased(core.MasterKey("m1"), core.Encode(core.MasterRecord{ID: "m1", Instance: "m1/1"})),
		core.PutLeased(core.WorkerKey("w1"), core.Encode(core.WorkerRecord{Endpoint: "w1", Instance: "w1/1"})),
	}})
	return l
}

func (l *ledger) must(t core.Txn) {
	l.Helper()
	if !l.kv.Apply(t, "test") {
		l.Fatalf("expected to be applied: %s", t)
	}
}

func (l *ledger) mustNot(t core.Txn, why string) {
	l.Helper()
	if l.kv.Apply(t, "test") {
		l.Fatalf("applied, though %s: %s", why, t)
	}
}

func (l *ledger) view() *core.View { return core.ViewOf(l.kv.Revision(), l.kv.Read(core.Everything())) }

func reservation() core.Execution {
	return core.Execution{
		ID: "e1", Number: 1, Target: "events", Kind: core.KindMerge, Phase: core.Reserved, Endpoint: "w1", Charge: core.Unowned,
		Shards: []core.ShardID{"s1"}, Requested: 10, TableID: "t1", Path: "events.lance", Scheme: core.V2,
	}
}

func (l *ledger) judged() core.Judged {
	v := l.view()
	return core.Judged{View: v, Target: "events", Worker: v.Workers[0]}
}

// run brings an execution to Running, with base v2 and s1's generation 1 as its plan.
func (l *ledger) run() core.Execution {
	l.Helper()
	e := reservation()
	l.must(core.Reserve(l.judged(), e))
	r := core.Started(e, "w1/1", "n1", 2, nil, []core.ShardPlan{{Shard: "s1", First: 1, Last: 1}}, 100)
	l.must(core.Start(e, r))
	return r
}

func nothingAdmitted(e core.Execution) core.Watermarks { return core.Watermarks{Execution: e.ID} }

func TestReserveComparesWhatItWasJudgedBy(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]core.Op{
		"somebody owns the table":     core.Put(core.OwnerKey("events"), core.Encode("other")),
		"the table was adopted anew":  core.Put(core.TableKey("events"), core.Encode(core.TableRecord{ID: "t2"})),
		"the table was latched":       core.Put(core.ModeKey("events"), core.Encode(core.Latch{Mode: core.Draining})),
		"a policy was written":        core.Put(core.PolicyKey("events"), core.Encode(core.Policy{Mode: core.Direct})),
		"the demand changed":          core.Put(core.DemandKey("events"), core.Encode(core.Demand{Shards: []core.ShardID{"s9"}})),
		"a master came":               core.Put(core.MasterKey("m2"), core.Encode(core.MasterRecord{ID: "m2"})),
		"a master went":               core.Delete(core.MasterKey("m1")),
		"its worker went":             core.Delete(core.WorkerKey("w1")),
		"its worker was started anew": core.Put(core.WorkerKey("w1"), core.Encode(core.WorkerRecord{Endpoint: "w1", Instance: "w1/2"})),
		"a failure was charged":       core.Put(core.FailureKey("events", core.Unowned), core.Encode(core.FailureRecord{Attempts: 1})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(t)
			j := l.judged()
			l.must(core.Txn{Name: "meanwhile", Then: []core.Op{meanwhile}})
			l.mustNot(core.Reserve(j, reservation()), name)
		})
	}
	t.Run("nothing happened", func(t *testing.T) {
		t.Parallel()
		l := newLedger(t)
		l.must(core.Reserve(l.judged(), reservation()))
		if d := sim.Get[core.Demand](l.kv, core.DemandKey("events")); len(d.Shards) != 1 || d.Shards[0] != "s2" || d.First != 10 {
			t.Errorf("expected only s1 to leave the demand, it is %+v", d)
		}
	})
}

func TestStartIsOnesOwn(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	running := l.run()
	twin := core.Started(reservation(), "w1/2", "n2", 2, nil, running.Plan, 100)
	l.mustNot(core.Start(reservation(), twin), "a twin has started it")
}

func TestAdmitNeedsTheRunningExecution(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	e := l.run()
	first := core.Admit(e, nothingAdmitted(e), core.Base, 3)
	l.must(first)
	w := nothingAdmitted(e).Raise(core.Base, 3)
	l.mustNot(core.Admit(e, nothingAdmitted(e), core.Base, 4), "the watermarks are others by now")
	other := e
	other.Instance = "w1/2"
	l.mustNot(core.Admit(other, w, core.Base, 4), "another process runs it")
	_, freeze := core.Freeze(e, nil, core.Failure{Code: core.CodeWorkerGone}, "m1/1", 200)
	l.must(freeze)
	l.mustNot(core.Admit(e, w, core.Base, 4), "it is frozen")
}

func TestFinishSaysWhetherEveryCommitIsKnown(t *testing.T) {
	t.Parallel()
	for definite, phase := range map[bool]core.Phase{true: core.Finished, false: core.Uncertain} {
		l := newLedger(t)
		e := l.run()
		done, txn := core.Finish(e, core.Progress{Execution: e.ID}, definite, false, core.Failure{}, 200)
		if done.Phase != phase {
			t.Errorf("definite is %v: expected %s, got %s", definite, phase, done.Phase)
		}
		l.must(txn)
		l.mustNot(core.Admit(e, nothingAdmitted(e), core.Base, 3), "it is over")
	}
}

// Attack stale-freeze.
func TestFreezeComparesThePhaseThatItJudged(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	e := l.run()
	_, freeze := core.Freeze(e, nil, core.Failure{Code: core.CodeWorkerGone}, "m1/1", 200)
	_, finish := core.Finish(e, core.Progress{Execution: e.ID}, true, false, core.Failure{}, 150)
	l.must(finish)
	l.mustNot(freeze, "it has finished")
}

func TestFreezeForNoProgressComparesTheProgress(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	e := l.run()
	progress := l.view().Target("events").Progress
	_, freeze := core.Freeze(e, &progress, core.Failure{Code: core.CodeNoProgress}, "m1/1", 200)
	l.must(core.Txn{Name: "progress", Then: []core.Op{core.Put(core.ProgressKey("events"), core.Encode(core.Progress{Execution: e.ID, Sequence: 1}))}})
	l.mustNot(freeze, "it has made progress")
}

// A recovery waits for deletes that are on their way.
func TestFinishRecoveryComparesTheDeletes(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	e := l.run()
	frozen, freeze := core.Freeze(e, nil, core.Failure{Code: core.CodeWorkerGone}, "m1/1", 200)
	l.must(freeze)
	_, finish := core.FinishRecovery(frozen, nil, core.Absent(core.DeletesKey("events")))
	l.must(core.Txn{Name: "deletes", Then: []core.Op{core.Put(core.DeletesKey("events"), `{}`)}})
	l.mustNot(finish, "a batch of deletes is on its way")
}

// finished is an execution that has ended with a failure, and what Release sees of it.
func (l *ledger) finished(end core.Failure) core.Released {
	l.Helper()
	e := l.run()
	done, txn := core.Finish(e, core.Progress{Execution: e.ID}, true, false, end, 150)
	l.must(txn)
	return core.Released{Execution: done, Table: core.Table{Target: "events", Base: core.BaseManifest{Version: 3}, Shards: []core.ShardManifest{
		{Shard: "s1", SSTables: []core.SSTable{{Generation: 1}}}, {Shard: "s2", SSTables: []core.SSTable{{Generation: 1}}},
	}}, Target: l.view().Target("events"), At: 300, By: "w1/1"}
}

// Attack release-unknown.
func TestReleaseChargesOnce(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	r := l.finished(core.Failure{Code: core.CodeEngineOOM, Detail: "out of memory"})
	l.must(core.Release(r))
	l.mustNot(core.Release(r), "it is released")
	r.Target = l.view().Target("events")
	l.mustNot(core.Release(r), "it is released, also by what the records say now")
	f := sim.Get[core.FailureRecord](l.kv, core.FailureKey("events", core.Unowned))
	if f.Attempts != 1 || f.Delay != 2000 || f.Code != core.CodeEngineOOM {
		t.Errorf("expected one attempt with a wait of 2 s, the budget is %+v", f)
	}
	if d := sim.Get[core.Demand](l.kv, core.DemandKey("events")); len(d.Shards) != 2 || d.First != 10 {
		t.Errorf("expected both shards in the demand with their old time, it is %+v", d)
	}
	for _, key := range []string{core.OwnerKey("events"), core.ExecutionKey("events"), core.AdmittedKey("events"), core.ProgressKey("events")} {
		if l.kv.Get(key).Mod != 0 {
			t.Errorf("%s is left", key)
		}
	}
}

func TestReleaseBelievesTheMarksAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    core.Failure
		mark   core.Generation
		merged bool
		code   core.Code
	}{
		"reported as done, and done":             {core.Failure{}, 1, true, ""},
		"reported as done, and not done":         {core.Failure{}, 0, false, core.CodeEngineUnknown},
		"reported as failed, and done":           {core.Failure{Code: core.CodeEngineKilled}, 1, true, ""},
		"reported as failed, and not done":       {core.Failure{Code: core.CodeEngineKilled}, 0, false, core.CodeEngineKilled},
		"stale, which somebody else has merged":  {core.Failure{Code: core.CodeStale}, 2, true, ""},
		"cancelled, which is nobody's failure":   {core.Failure{Code: core.CodeCancelled}, 0, false, ""},
		"a lost race, which is nobody's failure": {core.Failure{Code: core.CodeStale}, 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(t)
			r := l.finished(c.end)
			r.Table.Base.Marks = core.Marks(nil).With("s1", c.mark)
			if merged, _ := r.Outcome(); merged != c.merged {
				t.Errorf("expected merged to be %v", c.merged)
			}
			l.must(core.Release(r))
			if f := sim.Get[core.FailureRecord](l.kv, core.FailureKey("events", core.Unowned)); f.Code != c.code {
				t.Errorf("expected %q to be charged, the budget says %q", c.code, f.Code)
			}
		})
	}
}

// An adoption by hand makes the table due, and takes nothing else from its budget.
func TestAdoptionWaivesTheWaitAndNothingElse(t *testing.T) {
	t.Parallel()
	charged := core.FailureRecord{Target: "events", Endpoint: core.Unowned}.Charged(core.Failure{Code: core.CodeLakeChanged}, 5)
	charged = charged.Charged(core.Failure{Code: core.CodeGenerationGap, Shard: "s1"}, 6)
	waived := charged.Waived()
	if len(waived.Due([]core.ShardID{"s1"}, 0)) != 1 {
		t.Errorf("expected s1 to be due at once: %+v", waived)
	}
	if waived.Attempts != 2 || !waived.Attention || len(waived.BadShards) != 1 || charged.BadShards[0].Delay == 0 {
		t.Errorf("expected attempts, attention and bad shards as they were: %+v of %+v", waived, charged)
	}
}

// Attack kv-restored: an execution that the lake knows and the KV does not, or knows by another name.
func TestHistoryThatOnlyTheLakeKnowsClosesTheTable(t *testing.T) {
	t.Parallel()
	rec := &core.TableRecord{LastExecution: 2, LastID: "e2"}
	for name, c := range map[string]struct {
		rec     *core.TableRecord
		numbers []core.Number
		code    core.Code
	}{
		"the lake knows nothing":                       {rec, nil, ""},
		"both know the same":                           {rec, []core.Number{{N: 1, Execution: "e1"}, {N: 2, Execution: "e2"}}, ""},
		"the KV knows more":                            {rec, []core.Number{{N: 1, Execution: "e1"}}, ""},
		"the lake knows more":                          {rec, []core.Number{{N: 3, Execution: "e3"}}, core.CodeLakeChanged},
		"the last number belongs to another execution": {rec, []core.Number{{N: 2, Execution: "other"}}, core.CodeLakeChanged},
		"the KV knows nothing at all":                  {nil, []core.Number{{N: 1, Execution: "e1"}}, core.CodeLakeChanged},
	} {
		if f := core.KnownHistory("events", c.rec, c.numbers); f.Code != c.code {
			t.Errorf("%s: expected %q, got %q", name, c.code, f.Code)
		}
	}
}
