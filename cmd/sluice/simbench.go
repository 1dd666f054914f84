package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/sim"
)

// What the simulator must reach, in steps a second of one core's time and merges of each table a virtual hour.
const (
	leastCoreRate = 200_000
	leastSimRate  = 40_000
	leastMerges   = 12
)

// simBench measures the standard mix: the bare core, the whole simulator, and its memory over a long run.
type simBench struct {
	seeds  int
	hours  float64
	longer float64
	json   bool
}

// benchFigures are what it finds. Seconds are CPU time of all threads, since machines are shared; garbage
// collection and the checkers are in it.
type benchFigures struct {
	Profile string      `json:"profile"`
	Core    coreFigures `json:"bare_core"`
	Sim     simFigures  `json:"simulator"`
	Memory  []heapInUse `json:"memory"`
}

type coreFigures struct {
	Steps   int     `json:"steps"` // on the tape
	Plays   int     `json:"plays"`
	Seconds float64 `json:"cpu_seconds"`
	Rate    float64 `json:"steps_per_second"`
}

type simFigures struct {
	Runs    int     `json:"runs"`
	Steps   int     `json:"steps"`
	Seconds float64 `json:"cpu_seconds"`
	Rate    float64 `json:"steps_per_second"`
	// Merges of each table a virtual hour: of all tables on average, and of the one with the fewest.
	Merges      int                 `json:"merges"`
	PerTable    float64             `json:"merges_per_table_hour"`
	FewestOf    float64             `json:"fewest_merges_per_table_hour"`
	Faults      int                 `json:"faults"`
	Judged      int                 `json:"operations_judged"`
	Hours       float64             `json:"virtual_hours"`
	PerCPUHour  perCPUHour          `json:"per_cpu_hour"`
	Verdicts    map[sim.Verdict]int `json:"verdicts"`
	mergesOf    map[core.Target]int
	tables      int
	worst       sim.Verdict
	worstReason string
}

type perCPUHour struct {
	Steps  float64 `json:"steps"`
	Merges float64 `json:"merges"`
	Faults float64 `json:"faults"`
	Hours  float64 `json:"virtual_hours"`
}

type heapInUse struct {
	Hour  int    `json:"virtual_hour"`
	Bytes uint64 `json:"heap_bytes"`
}

func simBenchCommand() *cobra.Command {
	var o simBench
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure steps a second of the bare core and of the whole simulator, and its memory",
		Long:  "Measure, on one standard mix of fleet and faults: the bare core, which is `Step` alone on the recorded events\nof a run; the whole simulator with all checks; and its memory over a long run.",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.seeds < 1 || o.hours <= 0 || o.longer < 0 {
				return usagef("--seeds, --hours and --memory-hours are %d, %g and %g; the first two must be above 0", o.seeds, o.hours, o.longer)
			}
			return o.run(c.OutOrStdout())
		},
	}
	c.Flags().IntVar(&o.seeds, "seeds", 6, "run so many seeds of the mix")
	c.Flags().Float64Var(&o.hours, "hours", 1, "virtual hours of faults of each seed")
	c.Flags().Float64Var(&o.longer, "memory-hours", 24, "virtual hours of the run whose memory is shown; 0 leaves it out")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// quietCollector lets garbage pile up a little longer: a run needs a few megabytes, and collecting them each time
// that they have doubled would be a quarter of all work.
func quietCollector() { debug.SetGCPercent(400) }

func (o simBench) run(out io.Writer) error {
	quietCollector()
	mix := sim.StandardMix(1, o.hours)
	f := benchFigures{Profile: mix.String(), Core: benchCore(mix)}
	f.Sim = o.whole()
	if f.Sim.worst == sim.Clean && o.longer > 0 {
		f.Memory = o.memory(&f.Sim)
	}
	if err := o.print(out, f); err != nil {
		return err
	}
	if f.Sim.worst != sim.Clean {
		return &verdictError{f.Sim.worst, "a run of the standard mix is not clean: " + f.Sim.worstReason}
	}
	return nil
}

// benchCore records a run and plays its events to fresh machines, a few times; the first time is for warming up.
func benchCore(mix sim.Profile) coreFigures {
	const plays = 8
	tape, _ := sim.Record(mix)
	f := coreFigures{Steps: tape.Steps(), Plays: plays}
	for i := range plays + 1 {
		machines := tape.Machines()
		runtime.GC()
		before := cpuTime()
		tape.Play(machines)
		if i > 0 {
			f.Seconds += (cpuTime() - before).Seconds()
		}
	}
	f.Rate = float64(plays*f.Steps) / f.Seconds
	return f
}

// whole runs the seeds, all checks and the digest on, one after the other.
func (o simBench) whole() simFigures {
	f := simFigures{Verdicts: map[sim.Verdict]int{}, mergesOf: map[core.Target]int{}, worst: sim.Clean}
	for seed := range uint64(o.seeds) {
		mix := sim.StandardMix(seed+1, o.hours)
		f.tables = mix.Tables
		before := cpuTime()
		r := sim.Run(sim.Options{Seed: mix.Seed, Hours: o.hours, Profile: &mix})
		f.Seconds += (cpuTime() - before).Seconds()
		f.add(r)
	}
	f.Rate = float64(f.Steps) / f.Seconds
	f.PerTable = float64(f.Merges) / float64(f.tables) / f.Hours
	fewest := f.Merges
	for _, n := range f.mergesOf {
		fewest = min(fewest, n)
	}
	if len(f.mergesOf) < f.tables {
		fewest = 0
	}
	f.FewestOf = float64(fewest) / f.Hours
	hour := 3600 / f.Seconds
	f.PerCPUHour = perCPUHour{float64(f.Steps) * hour, float64(f.Merges) * hour, float64(f.Faults) * hour, f.Hours * hour}
	return f
}

func (f *simFigures) add(r sim.Result) {
	f.Runs++
	f.Steps += r.Steps
	f.Merges += r.Merges
	f.Faults += r.Faults
	f.Judged += r.Judged
	f.Hours += r.Virtual.Hours()
	f.Verdicts[r.Verdict]++
	for t, n := range r.MergesOf {
		f.mergesOf[t] += n
	}
	if w := worse(f.worst, r.Verdict); w != f.worst {
		f.worst, f.worstReason = w, fmt.Sprintf("seed %d: %s", r.Seed, r.Problem)
	}
}

// memory runs one long seed and looks at the heap after each of its hours.
func (o simBench) memory(f *simFigures) []heapInUse {
	var heap []heapInUse
	mix := sim.StandardMix(1, o.longer)
	r := sim.Run(sim.Options{Seed: mix.Seed, Hours: o.longer, Profile: &mix, Forget: true, Watch: func(hour int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = append(heap, heapInUse{hour, m.HeapAlloc})
	}})
	if w := worse(f.worst, r.Verdict); w != f.worst {
		f.worst, f.worstReason = w, fmt.Sprintf("seed %d of %g hours: %s", r.Seed, o.longer, r.Problem)
	}
	return heap
}

func (o simBench) print(out io.Writer, f benchFigures) error {
	if o.json {
		return printJSON(out, f)
	}
	fmt.Fprintln(out, f.Profile)
	fmt.Fprintf(out, "bare core: %d recorded steps, %d times, in %.2f s of CPU: %.0f steps a second (at least %d)\n",
		f.Core.Steps, f.Core.Plays, f.Core.Seconds, f.Core.Rate, leastCoreRate)
	s := f.Sim
	fmt.Fprintf(out, "whole simulator: seeds 1..%d, %d steps in %.2f s of CPU: %.0f steps a second (at least %d)\n", s.Runs, s.Steps, s.Seconds, s.Rate, leastSimRate)
	fmt.Fprintf(out, "  with %d operations of histories judged; %.1f merges a table and virtual hour, %.1f of the table with the fewest (at least %d)\n",
		s.Judged, s.PerTable, s.FewestOf, leastMerges)
	fmt.Fprintf(out, "  in an hour of CPU: %.0f million steps, %.0f thousand merges, %.1f million faults, %.0f virtual hours\n",
		s.PerCPUHour.Steps/1e6, s.PerCPUHour.Merges/1e3, s.PerCPUHour.Faults/1e6, s.PerCPUHour.Hours)
	if len(f.Memory) > 0 {
		var shown []string
		for i, h := range f.Memory {
			if n := len(f.Memory); i == 0 || i == n-1 || (i+1)%max(1, n/6) == 0 {
				shown = append(shown, fmt.Sprintf("%d h %.1f MB", h.Hour, float64(h.Bytes)/1e6))
			}
		}
		fmt.Fprintf(out, "memory: heap in use after %s\n", strings.Join(shown, ", "))
	}
	return nil
}

// cpuTime is what this process has used of all cores.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
