//go:build planted

package sim

import (
	"bufio"
	_ "embed"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/guard"
)

// caughtList has, for each planted mistake, the seed that caught it last (`make sim-planted` writes it).
//
//go:embed caught.txt
var caughtList string

// TestPlantedMistakesAreCaughtByTheirSeeds makes each mistake and runs the seed that caught it; without the
// mistake the seed must be clean.
func TestPlantedMistakesAreCaughtByTheirSeeds(t *testing.T) {
	for s := bufio.NewScanner(strings.NewReader(caughtList)); s.Scan(); {
		name, number, _ := strings.Cut(s.Text(), "\t")
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatalf("caught.txt: %q: %v", s.Text(), err)
		}
		guard.SetOut(guard.Name(name))
		with := Run(Options{Seed: seed})
		guard.SetOut("")
		if with.Verdict == Clean {
			t.Errorf("%s is not caught by seed %d any more; `make sim-planted` looks for another one", name, seed)
		}
		if without := Run(Options{Seed: seed}); without.Verdict != Clean {
			t.Errorf("seed %d without %s: %s %s", seed, name, without.Verdict, without.Problem)
		}
	}
}
