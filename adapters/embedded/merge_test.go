package embedded_test

import (
	"testing"

	"github.com/sluice-data/sluice/adapters/stock"
)

func TestAnOwnedMergeOfALanceDBTableLeavesTheViewAsItWas(t *testing.T) {
	t.Parallel()
	r := newRig(t, "db/events")
	r.open()
	table := r.table("db/events")
	r.must(clients.CreateLSM(t.Context(), table, stock.Rows{To: 100}, r.record))
	must[stock.Written](t)(clients.WriteGenerations(t.Context(), table, 5, 40, r.record))
	before := r.saveView("db/events")

	h := r.merge("db/events")
	if !h.Merged || h.Execution.Number != 1 {
		t.Fatalf("expected execution 1 to merge, got %+v", h)
	}
	r.wantBase("db/events", before)
	if p := r.pending("db/events"); p != 0 {
		t.Fatalf("expected nothing pending, found %d generations", p)
	}
}
