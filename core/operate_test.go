package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

// asked is a master that is asked for something while the KV has these records; it returns what the master
// wants done once it has looked at them.
func asked(t *testing.T, ev core.Event, records map[string]any) (*core.Master, []core.Effect) {
	t.Helper()
	m := core.NewMaster(core.MasterConfig{ID: "m1", Instance: "m1/1"})
	return m, looked(t, m, m.Step(core.Moment{Mono: 1}, ev), records)
}

// looked answers the read that a master waits for.
func looked(t *testing.T, m *core.Master, effects []core.Effect, records map[string]any) []core.Effect {
	t.Helper()
	read, ok := effects[0].(core.Read)
	if !ok || len(effects) != 1 {
		t.Fatalf("expected a look at the records, got %v", effects)
	}
	done := core.ReadDone{Effect: read.ID, OK: true, Revision: 10}
	for key, r := range records {
		for _, want := range read.Ranges {
			if want.Contains(key) {
				done.Records = append(done.Records, core.Record{Key: key, Value: core.Encode(r), Mod: 5})
			}
		}
	}
	return m.Step(core.Moment{Mono: 2}, done)
}

func TestAModeComesDownOnlyWhereNothingStandsAgainstIt(t *testing.T) {
	t.Parallel()
	const e = core.Target("db/events")
	latch := func(m core.Mode) any { return core.Latch{Mode: m, By: "w1"} }
	owned, draining := core.Declaration{Owned: []core.Target{e}}, core.Declaration{Draining: []core.Target{e}}
	running := map[string]any{
		core.OwnerKey(e): core.ExecutionID("e7"), core.ExecutionKey(e): core.Execution{ID: "e7", Number: 7, Target: e, Phase: core.Running, Endpoint: "w1"},
	}
	for name, c := range map[string]struct {
		to      core.Mode
		records []map[string]any
		refused core.Reason // none: it is written
		words   string
	}{
		"nothing said yet, up to owned":                      {core.Owned, nil, "", ""},
		"up to draining while an execution runs":             {core.Draining, []map[string]any{running, {core.ModeKey(e): latch(core.Owned)}}, "", ""},
		"up to owned while a self-merge runs":                {core.Owned, []map[string]any{running}, "", ""},
		"down while an execution runs":                       {core.Direct, []map[string]any{running, {core.ModeKey(e): latch(core.Owned)}}, core.ReasonOwnedElsewhere, "execution 7 (running on w1)"},
		"down from a policy without a latch, and one runs":   {core.Direct, []map[string]any{running, {core.PolicyKey(e): core.Policy{Mode: core.Owned}}}, core.ReasonOwnedElsewhere, "execution 7"},
		"down to direct, and a worker declares it owned":     {core.Direct, []map[string]any{{core.ModeKey(e): latch(core.Owned), core.WorkerKey("w1"): core.WorkerRecord{Endpoint: "w1", Declares: owned}}}, core.ReasonModeDisagreement, "worker w1 declares db/events owned"},
		"down to owned, and a worker declares just that":     {core.Owned, []map[string]any{{core.ModeKey(e): latch(core.Draining), core.WorkerKey("w1"): core.WorkerRecord{Endpoint: "w1", Declares: owned}}}, "", ""},
		"down to owned, and a master declares it draining":   {core.Owned, []map[string]any{{core.ModeKey(e): latch(core.Draining), core.MasterKey("m2"): core.MasterRecord{ID: "m2", Declares: draining}}}, core.ReasonModeDisagreement, "MERGE_DRAIN_TARGETS"},
		"down, and everybody speaks of other tables":         {core.Direct, []map[string]any{{core.ModeKey(e): latch(core.Draining), core.WorkerKey("w1"): core.WorkerRecord{Endpoint: "w1"}}}, "", ""},
		"a mode that doesn't exist":                          {"sideways", nil, core.ReasonInvalid, "use direct, owned or draining"},
		"down while a record of the table can't be read":     {core.Direct, []map[string]any{{core.ModeKey(e): map[string]int{"level": 9}}}, core.ReasonModeDisagreement, "newer Sluice"},
		"direct already, without anything said, is said now": {core.Direct, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := map[string]any{}
			for _, some := range c.records {
				for key, r := range some {
					records[key] = r
				}
			}
			_, effects := asked(t, core.ModeRequested{Request: 3, Target: e, Mode: c.to}, records)
			switch did := effects[0].(type) {
			case core.AnswerOperator:
				if did.Request != 3 || did.Refused != c.refused || c.refused == "" || !strings.Contains(did.Detail, c.words) {
					t.Errorf("expected %q with %q, got %v", c.refused, c.words, did)
				}
			case core.Commit:
				if c.refused != "" || did.Txn.Name != "mode" {
					t.Errorf("expected %q, it writes %v", c.refused, did.Txn)
				}
			default:
				t.Errorf("got %v", effects)
			}
		})
	}
}

func TestAModeKeepsTheRestOfThePolicy(t *testing.T) {
	t.Parallel()
	four := 4
	_, effects := asked(t, core.ModeRequested{Target: "t", Mode: core.Owned}, map[string]any{core.PolicyKey("t"): core.Policy{Mode: core.Direct, PendingGenerations: &four}})
	want := core.Put(core.PolicyKey("t"), core.Encode(core.Policy{Mode: core.Owned, PendingGenerations: &four}))
	if did, ok := effects[0].(core.Commit); !ok || did.Txn.Then[0] != want {
		t.Errorf("expected %v, got %v", want, effects)
	}
}

func TestAWishWithoutAnAnswerIsReadBack(t *testing.T) {
	t.Parallel()
	ask := core.ModeRequested{Request: 3, Target: "t", Mode: core.Draining}
	made := map[string]any{core.PolicyKey("t"): core.Policy{Mode: core.Draining}, core.ModeKey("t"): core.Latch{Mode: core.Draining}}
	for name, c := range map[string]struct {
		then map[string]any
		want string
	}{
		"it took effect": {made, "answer operator: 1 changed"},
		"it did not":     {nil, "commit mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, effects := asked(t, ask, nil)
			effects = m.Step(core.Moment{Mono: 3}, core.Committed{Effect: effects[0].(core.Commit).ID, Outcome: core.Unknown})
			if effects = looked(t, m, effects, c.then); fmt.Sprint(effects[0]) != c.want {
				t.Errorf("expected %q, got %v", c.want, effects)
			}
		})
	}
}

func TestAWishIsAnsweredHoweverOftenTheRecordsChangeUnderIt(t *testing.T) {
	t.Parallel()
	m, effects := asked(t, core.PolicyRequested{Request: 3, Target: "t", Policy: core.Policy{Kinds: []core.Kind{core.KindCompact}}}, nil)
	for range 100 {
		commit, ok := effects[0].(core.Commit)
		if !ok {
			break
		}
		effects = m.Step(core.Moment{Mono: 3}, core.Committed{Effect: commit.ID, Outcome: core.NotApplied})
		if _, reads := effects[0].(core.Read); reads {
			effects = looked(t, m, effects, nil)
		}
	}
	if a, ok := effects[0].(core.AnswerOperator); !ok || a.Refused != core.ReasonKVDown {
		t.Errorf("expected an answer that something is in the way, got %v", effects)
	}
}

func TestFailuresOfAnEndpointAreForgottenTableByTable(t *testing.T) {
	t.Parallel()
	failed := func(t core.Target, e core.Endpoint) core.FailureRecord {
		return core.FailureRecord{Target: t, Endpoint: e, Attempts: 3}
	}
	records := map[string]any{
		core.FailureKey("a", "w1"): failed("a", "w1"), core.FailureKey("b", "w1"): failed("b", "w1"), core.FailureKey("c", "w2"): failed("c", "w2"),
		core.ExecutionKey("a"): core.Execution{ID: "e1", Number: 1, Target: "a", Phase: core.Running, Endpoint: "w9", Charge: "w1"},
		core.ExecutionKey("b"): core.Execution{ID: "e2", Number: 2, Target: "b", Phase: core.Running, Endpoint: "w1", Charge: core.Unowned},
	}
	m, effects := asked(t, core.ForgetRequested{Request: 3, Endpoint: "w1"}, records)
	var forgotten []string
	for range 10 {
		switch did := effects[0].(type) {
		case core.Read:
			effects = looked(t, m, effects, records)
		case core.Commit:
			forgotten = append(forgotten, did.Txn.Then[0].Key)
			effects = m.Step(core.Moment{Mono: 3}, core.Committed{Effect: did.ID, Outcome: core.Applied})
		}
	}
	if len(forgotten) != 1 || forgotten[0] != core.FailureKey("b", "w1") {
		t.Errorf("expected b alone to be written, where nothing is charged to w1; got %v", forgotten)
	}
	if a, ok := effects[0].(core.AnswerOperator); !ok || a.Changed != 1 || a.Refused != core.ReasonOwnedElsewhere || !strings.Contains(a.Detail, "execution 1 (running on w9) of a is charged to w1") {
		t.Errorf("got %v", effects)
	}
}
