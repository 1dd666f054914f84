package embedded_test

import (
	"testing"

	"github.com/sluice-data/sluice/adapters/stock"
)

func TestAnOwnedMergeOfALanceDBTableLeavesTheViewAsItWas(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	table := r.table(events)
	r.must(clients.CreateLSM(t.Context(), table, stock.Rows{To: 100}, r.record))
	must[stock.Written](t)(clients.WriteGenerations(t.Context(), table, 5, 40, r.record))
	r.chain.begin()
	before := r.saveView(events)

	if h := r.merged(events); h.Execution.Number != 1 {
		t.Fatalf("expected execution 1 to merge, got %+v", h)
	}
	r.wantBase(events, before)
	if p := r.pending(events); p != 0 {
		t.Fatalf("expected nothing pending, found %d generations", p)
	}
	r.chain.check()
}
