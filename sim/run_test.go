package sim

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	firstSeed = flag.Uint64("sim.seed", 0, "run from this seed on; 0 draws one from the clock")
	forLong   = flag.Duration("sim.for", 5*time.Second, "run fresh seeds for this long")
	simHours  = flag.Float64("sim.hours", 1, "virtual hours of faults of each seed")
)

// TestFreshSeeds runs seeds that nobody has run before, each of them twice, and prints which: on all cores, for
// as long as the flag says. A checker that runs out of its time has found nothing, which is no pass.
func TestFreshSeeds(t *testing.T) {
	first := *firstSeed
	if first == 0 {
		first = uint64(time.Now().UnixMilli())
	}
	until := time.Now().Add(*forLong)
	var next, runs, steps atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for time.Now().Before(until) && !t.Failed() {
				seed := first + next.Add(1) - 1
				o := Options{Seed: seed, Hours: *simHours, Digests: true}
				a, b := Run(o), Run(o)
				runs.Add(1)
				steps.Add(uint64(a.Steps + b.Steps))
				again := "again: go run ./cmd/sluice sim run --seed %d --hours %g"
				if i := differ(a.Digests, b.Digests); i >= 0 || a.Verdict != b.Verdict {
					t.Errorf("seed %d: two runs differ from step %d on; "+again, seed, i+1, seed, *simHours)
				}
				if a.Verdict != Clean {
					t.Errorf("%v\n%s%s: %s\n"+again, a.Profile, a.State, a.Verdict, a.Problem, seed, *simHours)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("seeds %d..%d: %d runs of %g virtual hours, each done twice, %d steps", first, first+next.Load()-1, runs.Load(), *simHours, steps.Load())
}
