package core

import (
	"fmt"
	"testing"
)

// Tables whose names differ in their last characters only, as most do, must not all go to one worker: the last byte of
// FNV-1a hardly reaches the upper bits, and the weights are compared by those.
func TestTablesSpreadOverWorkers(t *testing.T) {
	t.Parallel()
	const tables, workers = 400, 8
	for _, names := range []struct{ table, worker string }{
		{"db/events-%03d", "worker-%d.sluice"}, {"db/events-%03d", "w%d"}, {"t%d", "10.0.0.%d:7000"}, {"tenant%03d/events", "w%d"},
	} {
		chosen := map[Endpoint]int{}
		for i := range tables {
			var best Endpoint
			table := Target(fmt.Sprintf(names.table, i))
			for k := range workers {
				if e := Endpoint(fmt.Sprintf(names.worker, k+1)); best == "" || weight(table, e) > weight(table, best) {
					best = e
				}
			}
			chosen[best]++
		}
		for e, n := range chosen {
			if n > 2*tables/workers {
				t.Errorf("%s: %d of %d tables prefer %s: %v", names.table, n, tables, e, chosen)
				break
			}
		}
	}
}
