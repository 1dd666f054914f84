package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/sim"
)

const simExits = `Exit codes: 0 every run is clean; 1 a run crashed, or the command failed; 2 the command line is wrong;
3 an invariant is broken (safety); 4 something is never merged (liveness); 5 a checker ran out of its time,
which is no pass.`

func simCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim",
		Short: "Run virtual fleets under faults until an invariant breaks or none does",
		Long:  "Run virtual fleets of the protocol's own code, on a virtual clock, under faults.\nSee docs/simulation.md.\n\n" + simExits,
		Args:  noArguments,
		PersistentPreRun: func(*cobra.Command, []string) {
			// A run holds little and makes much garbage: memory is traded for speed.
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(400)
			}
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(simRunCommand(), simReplayCommand(), simBenchCommand())
	return c
}

// verdictError is a run that is not clean; what is to be said of it has been said.
type verdictError struct {
	verdict sim.Verdict
	text    string
}

func (e *verdictError) Error() string { return e.text }

// exit is the exit code of a verdict.
func exit(v sim.Verdict) int {
	switch v {
	case sim.Clean:
		return 0
	case sim.Safety:
		return 3
	case sim.Liveness:
		return 4
	case sim.Timeout:
		return 5
	}
	return 1
}

// worse is the verdict that counts of two: a broken invariant before all else.
func worse(a, b sim.Verdict) sim.Verdict {
	order := []sim.Verdict{sim.Clean, sim.Timeout, sim.Liveness, sim.Crash, sim.Safety}
	rank := func(v sim.Verdict) int {
		for i, o := range order {
			if o == v {
				return i
			}
		}
		return 0
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}
