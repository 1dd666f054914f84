package sim

import (
	"bufio"
	_ "embed"
	"strings"

	"github.com/sluice-data/sluice/guard"
)

// plantedList names every planted bug, one a line: name, tab, sentence.
//
//go:embed planted.txt
var plantedList string

// Planted is a mistake that a build with the tag `planted` can be told to make. The check of it is that
// some run of the simulator fails.
type Planted struct{ Name, Sentence string }

// Canary is no mistake of the protocol: with it every run fails, so that it is known that a failure would
// be seen.
const Canary = "canary"

// PlantedBugs are all of them, in the order of the list.
func PlantedBugs() []Planted {
	var all []Planted
	for s := bufio.NewScanner(strings.NewReader(plantedList)); s.Scan(); {
		if name, sentence, ok := strings.Cut(s.Text(), "\t"); ok && !strings.HasPrefix(name, "#") {
			all = append(all, Planted{name, sentence})
		}
	}
	return all
}

// Mistakes of the world itself: of the adapters, whose contract it models.
const (
	fenceAnyTable    = "fence-any-table"
	fenceDropsRows   = "fence-drops-rows"
	conflictIsOurs   = "conflict-is-ours"
	errorIsNotLanded = "error-is-not-landed"
	silenceIsLanded  = "silence-is-landed"
	failedIsAbsent   = "failed-is-absent"
	unknownIsApplied = "kv-unknown-is-applied"
	putOverwrites    = "put-overwrites"
	condIgnored      = "kv-ignores-conditions"
)

func out(name string) bool { return guard.Out(guard.Name(name)) }
