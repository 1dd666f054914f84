package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// alike are names that are prefixes of each other, or that an encoding done badly would confuse.
var alike = rapid.SampledFrom([]core.Target{
	"db", "db/events", "db/events2", "db/event", "dbx", "db%2Fevents", "db%252Fevents", "d", "db.", "db-", "db~", "db0", "db/history", "DB", "db/ä", "db/a\u0308", "failure/db",
})

// keysOf are all keys of a target, and what covers more than one of them.
func keysOf(t core.Target, e core.Endpoint, n uint64) (keys []string, ranges []core.Range) {
	return []string{
			core.TableKey(t), core.OwnerKey(t), core.ExecutionKey(t), core.AdmittedKey(t), core.ProgressKey(t), core.DemandKey(t),
			core.ModeKey(t), core.PolicyKey(t), core.DeletesKey(t), core.FailureKey(t, e), core.HistoryKey(t, n), core.TakeoverKey(t, n),
		},
		[]core.Range{core.FailureRange(t), core.HistoryRange(t), core.TakeoverRange(t)}
}

func TestNoKeyOfATargetIsAnothersOrLiesInItsRange(t *testing.T) {
	t.Parallel()
	either := rapid.OneOf(alike, someTarget)
	rapid.Check(t, func(t *rapid.T) {
		a, b := either.Draw(t, "a"), either.Draw(t, "b")
		endpoint := core.Endpoint(rapid.SampledFrom([]string{"w", "w/1", "", "%", "~unowned", "../db"}).Draw(t, "endpoint"))
		n := rapid.Uint64().Draw(t, "number")
		mine, ranges := keysOf(a, endpoint, n)
		theirs, _ := keysOf(b, endpoint, n)
		fleet := []core.Range{core.MasterRange(), core.WorkerRange()}
		for i, key := range mine {
			switch {
			case slices.Index(mine, key) != i:
				t.Fatalf("%q has %s twice", a, key)
			case !core.Everything().Contains(key) || fleet[0].Contains(key) || fleet[1].Contains(key):
				t.Fatalf("%s of %q stands in the wrong place", key, a)
			case a != b && slices.Contains(theirs, key):
				t.Fatalf("%s belongs to %q and to %q", key, a, b)
			}
		}
		for _, r := range ranges {
			within := slices.DeleteFunc(slices.Clone(mine), func(k string) bool { return !r.Contains(k) })
			if len(within) != 1 || !strings.HasPrefix(within[0], r.Key) {
				t.Fatalf("the range %v of %q holds %v of its own keys", r, a, within)
			}
			if a != b && slices.ContainsFunc(theirs, r.Contains) {
				t.Fatalf("the range %v of %q holds a key of %q", r, a, b)
			}
		}
	})
}

// Numbers sort as text, so that a range of them is a range of keys.
func TestExecutionsSortByTheirNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		if got := core.HistoryKey("db", a) < core.HistoryKey("db", b); got != (a < b) {
			t.Fatalf("%d before %d: their keys say %v", a, b, got)
		}
	})
}
