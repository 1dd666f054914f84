package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// phases follows the records of one table.
type phases struct {
	of    core.Target
	view  *core.View
	seen  <-chan kv.Batch
	close context.CancelFunc
}

// phases begins to follow a table; what stood before is seen when it returns.
func (f *benchFleet) phases(t core.Target) *phases {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	f.Cleanup(cancel)
	// A connection of its own would be counted; this one's watch is, once.
	p := &phases{of: t, view: core.NewView(), seen: f.store.Watch(ctx, core.Everything(), 0), close: cancel}
	p.take(<-p.seen)
	return p
}

func (p *phases) take(b kv.Batch) *core.TargetView {
	if b.Reset {
		p.view = core.NewView()
	}
	p.view.Apply(b.Revision, b.Puts, b.Deletes)
	return p.view.Target(p.of)
}

// next waits for a phase.
func (p *phases) next(b *testing.B, phase core.Phase) {
	b.Helper()
	for {
		select {
		case batch := <-p.seen:
			if p.take(batch).Execution.Value.Phase == phase {
				return
			}
		case <-time.After(time.Minute):
			b.Fatalf("%s is not %s after a minute", p.of, phase)
		}
	}
}

// over waits until nobody owns the table.
func (p *phases) over(b *testing.B) {
	b.Helper()
	for {
		select {
		case batch := <-p.seen:
			if !p.take(batch).Owner.Present() {
				return
			}
		case <-time.After(time.Minute):
			b.Fatalf("%s is owned still after a minute", p.of)
		}
	}
}
