package core_test

import (
	"slices"
	"testing"

	"github.com/sluice-data/sluice/core"
)

func TestThePastIsHistoryAndTakeoversAndNothingElse(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		core.KVKey(): false, core.TableKey("t"): false, core.OwnerKey("t"): false, core.ExecutionKey("t"): false,
		core.AdmittedKey("t"): false, core.ProgressKey("t"): false, core.DemandKey("t"): false, core.FailureKey("t", "w"): false,
		core.ModeKey("t"): false, core.PolicyKey("t"): false, core.DeletesKey("t"): false, core.ReclaimKey("t"): false,
		core.MasterKey("m"): false, core.WorkerKey("w"): false, core.LoadKey("w"): false,
		core.HistoryKey("t", 1): true, core.TakeoverKey("t", 1): true,
	} {
		if core.Past(key) != want {
			t.Errorf("expected the past to have %s: %v", key, want)
		}
		if left := slices.ContainsFunc(core.WithoutPast(), func(r core.Range) bool { return r.Contains(key) }); left == want {
			t.Errorf("expected everything without the past to have %s: %v", key, !want)
		}
	}
}
