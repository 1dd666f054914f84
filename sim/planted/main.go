//go:build planted

// Command planted makes each planted mistake in turn and runs seeds of the simulator until one of them is
// caught.
//
//	go run -tags planted ./sim/planted [-only NAME] [-budget 60s] [-write] [-faults 20s]
//
// It prints one line a mistake: its name, whether it was caught, how many seeds and steps and CPU seconds
// that took, and by which check; and exits with 1 if one was missed. Each catching seed must be clean
// without the mistake. They are kept in sim/caught.txt (-write), which the tests run. With -faults it also deletes
// choices from the catching run, for as long, and says how many faults are left that have to come together.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-data/sluice/guard"
	"github.com/sluice-data/sluice/sim"
)

func main() {
	only := flag.String("only", "", "try the mistake of this name alone")
	budget := flag.Duration("budget", time.Minute, "CPU time for each")
	first := flag.Uint64("seed", 1, "the first seed")
	write := flag.Bool("write", false, "write the catching seeds to sim/caught.txt")
	faults := flag.Duration("faults", 0, "CPU time for finding how few faults are enough, for each; 0 does not look")
	flag.Parse()
	bugs := sim.PlantedBugs()
	rand.Shuffle(len(bugs), func(i, j int) { bugs[i], bugs[j] = bugs[j], bugs[i] })
	missed, tried := 0, 0
	var caught []string
	for _, bug := range bugs {
		if *only != "" && bug.Name != *only {
			continue
		}
		tried++
		seed, ok := try(bug, *first, *budget, *faults)
		if !ok {
			missed++
			continue
		}
		caught = append(caught, fmt.Sprintf("%s\t%d\n", bug.Name, seed))
	}
	fmt.Printf("%d of %d planted mistakes are caught\n", tried-missed, tried)
	if *write {
		slices.SortFunc(caught, cmp.Compare[string])
		if err := os.WriteFile("sim/caught.txt", []byte(strings.Join(caught, "")), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if missed > 0 || tried == 0 {
		os.Exit(1)
	}
}

// try runs seeds with the mistake until one fails that is clean without it.
func try(bug sim.Planted, first uint64, budget, faults time.Duration) (seed uint64, ok bool) {
	began, steps, seeds, dirty := cpu(), 0, 0, 0
	for seed = first; cpu()-began < budget; seed++ {
		guard.SetOut(guard.Name(bug.Name))
		r := sim.Run(sim.Options{Seed: seed, Hours: 1, CheckTime: time.Second})
		guard.SetOut("")
		steps += r.Steps
		seeds++
		if r.Verdict == sim.Clean || r.Verdict == sim.Timeout {
			continue
		}
		if clean := sim.Run(sim.Options{Seed: seed, Hours: 1}); clean.Verdict != sim.Clean {
			dirty++
			continue
		}
		problem, _, _ := strings.Cut(r.Problem, "\n")
		fmt.Printf("caught  %-26s %4d seeds %9d steps %6.1f s  %s: %.110s\n", bug.Name, seeds, steps, (cpu() - began).Seconds(), r.Verdict, problem)
		if faults > 0 {
			fmt.Printf("        %s\n", needs(bug, r, faults))
		}
		return seed, true
	}
	fmt.Printf("MISSED  %-26s %4d seeds %9d steps %6.1f s  %s (%d seeds not clean without it)\n", bug.Name, seeds, steps, (cpu() - began).Seconds(), bug.Sentence, dirty)
	return 0, false
}

// needs says which faults are left when choices are deleted from a failing run for a while.
func needs(bug sim.Planted, r sim.Result, budget time.Duration) string {
	began := cpu()
	guard.SetOut(guard.Name(bug.Name))
	t := sim.Shrink(sim.TraceOf(r, ""), func(int) bool { return cpu()-began < budget })
	guard.SetOut("")
	var faults []string
	for _, c := range t.Choices {
		if kind, _, _ := strings.Cut(c.Stream, "/"); kind != "writer" && kind != "client" { // those are no faults
			faults = append(faults, c.Stream)
		}
	}
	return fmt.Sprintf("%d faults and %d writes are left: %s", len(faults), len(t.Choices)-len(faults), strings.Join(faults[:min(len(faults), 6)], ", "))
}

// cpu is the processor time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
