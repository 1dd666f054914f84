package sim

import (
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// fanOutChecks hold reservations to the rules of the fan-out, by the world's own clock.
type fanOutChecks struct {
	charged map[string]core.MonoTime // when each budget was written last
	// hurried are the merges that a person asked for without waiting for budgets, taken those reservations that
	// did not wait: each wish is one for each endpoint.
	hurried map[core.Target]int
	taken   map[string]int
}

func newFanOutChecks() fanOutChecks {
	return fanOutChecks{charged: map[string]core.MonoTime{}, hurried: map[core.Target]int{}, taken: map[string]int{}}
}

// event notes a person's wish not to wait.
func (f *fanOutChecks) event(ev core.Event) {
	if ev, ok := ev.(core.MergeRequested); ok && ev.Now {
		f.hurried[ev.Target]++
	}
}

// unmerged reports whether a shard has something above its mark: what is merged leaves the demand with whatever is
// reserved next, and waits for nothing.
func (l *lake) unmerged(t core.Target, s core.ShardID) bool {
	tb := l.tables[t]
	if tb == nil || tb.shard(s) == nil {
		return true
	}
	return len(tb.shard(s).above(tb.head().Marks.Of(s))) > 0
}

// reserved checks that an execution has the shards of one endpoint, and that nothing of it still waits for a
// failure, under whatever name that was (attack new-names).
//
// A process whose clock has leapt has seen more time pass than there was, and who it was that reserved is not known.
func (c *checks) reserved(e core.Execution) {
	if len(c.leapt) > 0 {
		return
	}
	if e.Kind == core.KindMerge && e.Charge != core.Unowned && e.Charge != e.Endpoint {
		c.fail(5, "%s runs on %s, and %s is to be charged", e.ID, e.Endpoint, e.Charge)
	}
	for _, rec := range c.w.kv.Read(core.FailureRange(e.Target)) {
		f := decode[core.FailureRecord](rec)
		upkeep := f.Endpoint == "~compact" || f.Endpoint == "~index" || f.Endpoint == "~cleanup" // no merge waits for it
		touched := f.Endpoint == e.Charge || !upkeep && len(f.Touched) == 0 || slices.ContainsFunc(f.Touched, func(p core.ShardPlan) bool {
			return slices.Contains(e.Shards, p.Shard) && c.w.lake.unmerged(e.Target, p.Shard)
		})
		// Clocks may drift, and by less than this.
		waited, wait := c.w.now.Since(c.fanOut.charged[rec.Key]), time.Duration(f.Delay)*time.Millisecond*9/10
		if !touched || waited >= wait || c.leap >= c.fanOut.charged[rec.Key] && c.leap > 0 {
			continue // and whoever's clock has leapt meanwhile has waited, for all it knows
		}
		key := core.FailureKey(e.Target, e.Charge)
		if c.fanOut.taken[key]++; c.fanOut.taken[key] <= c.fanOut.hurried[e.Target] {
			return
		}
		c.fail(5, "%s of %s takes %v for %s %v after a failure of %s that is waited for %v", e.ID, e.Target, e.Shards, e.Charge, waited, f.Endpoint, wait)
	}
}
