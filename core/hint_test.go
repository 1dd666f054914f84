package core_test

import (
	"testing"

	"github.com/sluice-data/sluice/core"
)

// A write of the hint whose answer was lost may land after a later one. Nobody would look for room where the
// hint says that there is none, so its worker puts it right as soon as it sees it.
func TestAHintThatStandsOtherwiseThanItWasWrittenIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w := core.NewWorker(core.WorkerConfig{Endpoint: "w1", Instance: "w1/1"})
	at := core.Moment{Fresh: "n"}
	commit := func(effects []core.Effect, name string) (c core.Commit) {
		for _, effect := range effects {
			if e, ok := effect.(core.Commit); ok && e.Txn.Name == name {
				c = e
			}
		}
		return c
	}
	register := commit(w.Step(at, core.Changed{Revision: 1, Reset: true}), "register")
	var records []core.Record
	for _, op := range register.Txn.Then {
		records = append(records, core.Record{Key: op.Key, Value: op.Value, Mod: 2})
	}
	w.Step(at, core.Committed{Effect: register.ID, Outcome: core.Applied, Revision: 2})
	if again := commit(w.Step(at, core.Changed{Revision: 2, Puts: records}), "load"); again.ID != 0 {
		t.Fatalf("the hint came with the registration, and is written again: %v", again.Txn)
	}
	other := w.Load()
	other.Slots, other.Active = 0, 1
	late := core.Record{Key: core.LoadKey("w1"), Value: core.Encode(other), Mod: 3}
	right := commit(w.Step(at, core.Changed{Revision: 3, Puts: []core.Record{late}}), "load")
	if right.ID == 0 || right.Txn.Then[0].Value != core.Encode(w.Load()) {
		t.Fatalf("the hint says %+v where %+v is left, and stays so", other, w.Load())
	}
	w.Step(at, core.Committed{Effect: right.ID, Outcome: core.Applied, Revision: 4})
	if again := commit(w.Step(at, core.Tick{}), "load"); again.ID != 0 {
		t.Fatalf("what the watch shows is older than the answer, and the hint is written again: %v", again.Txn)
	}
}
