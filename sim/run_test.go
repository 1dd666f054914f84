package sim

import (
	"flag"
	"testing"
	"time"
)

var (
	firstSeed = flag.Uint64("sim.seed", 0, "run from this seed on; 0 draws one from the clock")
	forLong   = flag.Duration("sim.for", 10*time.Second, "run fresh seeds for this long")
	simHours  = flag.Float64("sim.hours", 1, "virtual hours of faults of each seed")
)

// TestFreshSeeds runs seeds that nobody has run before, and prints which. A checker that runs out of its time
// is told; it is neither a pass nor, alone, a failure.
func TestFreshSeeds(t *testing.T) {
	first := *firstSeed
	if first == 0 {
		first = uint64(time.Now().UnixMilli())
	}
	until := time.Now().Add(*forLong)
	seed, steps, clean := first, 0, 0
	var undecided []uint64
	for ; time.Now().Before(until); seed++ {
		res := Run(Options{Seed: seed, Hours: *simHours, CheckTime: 2 * time.Second})
		steps += res.Steps
		switch res.Verdict {
		case Clean:
			clean++
		case Timeout:
			undecided = append(undecided, seed)
		default:
			t.Fatalf("%v\n%s%s: %s\nagain: go run ./cmd/sluice sim run --seed %d --hours %g", res.Profile, res.State, res.Verdict, res.Problem, seed, *simHours)
		}
	}
	t.Logf("seeds %d..%d: %d clean, %d steps; a checker ran out of its time for %v", first, seed-1, clean, steps, undecided)
	if len(undecided) > clean {
		t.Errorf("most seeds are undecided: %v", undecided)
	}
}
