package sim

import (
	"flag"
	"testing"
	"time"
)

var (
	firstSeed = flag.Uint64("sim.seed", 0, "run from this seed on; 0 draws one from the clock")
	forLong   = flag.Duration("sim.for", 12*time.Second, "run fresh seeds for this long")
	simHours  = flag.Float64("sim.hours", 1, "virtual hours of faults of each seed")
)

// TestFreshSeeds runs seeds that nobody has run before, and prints which.
func TestFreshSeeds(t *testing.T) {
	first := *firstSeed
	if first == 0 {
		first = uint64(time.Now().UnixMilli())
	}
	until := time.Now().Add(*forLong)
	seed, steps := first, 0
	for ; time.Now().Before(until); seed++ {
		res := Run(Options{Seed: seed, Hours: *simHours})
		steps += res.Steps
		if res.Verdict != Clean {
			t.Errorf("%v\n%s: %s\n%s\nagain: go run ./cmd/sluice sim run --seed %d --hours %g", res.Profile, res.Verdict, res.Problem, res.State, seed, *simHours)
			break
		}
	}
	t.Logf("seeds %d..%d, %d steps", first, seed-1, steps)
}
