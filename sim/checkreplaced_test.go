package sim

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

// A recovery may end after its table has been replaced only if every admitted version was occupied before.
func TestARecoveryThatEndsBehindAReplacedTable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		commits int
		want    string
	}{
		{"saw the admitted version occupied", 2, ""},
		{"left the admitted version free", 1, "invariant 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			old := newTable(1)
			w.lake.place("db", old)
			for range test.commits {
				old.foreign()
			}
			e := core.Execution{ID: "x1", Target: "db", Phase: core.Recovering}
			w.kv.Apply(core.Txn{Name: "set up", Then: []core.Op{core.Put(core.ExecutionKey("db"), core.Encode(e))}}, "")
			w.checks.admitted[e.ID], w.checks.broken = 3, nil
			w.lake.place("db", newTable(1))
			e.Phase = core.Recovered
			w.kv.Apply(core.Txn{Name: "finish-recovery", Then: []core.Op{core.Put(core.ExecutionKey("db"), core.Encode(e))}}, "")
			if got := strings.Join(w.checks.broken, "; "); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("want %q, the check says %q", test.want, got)
			}
		})
	}
}
