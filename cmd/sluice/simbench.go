package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/sim"
)

func simBenchCommand() *cobra.Command {
	var hours float64
	var asJSON bool
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast the core and the simulator are",
		Long: `Measure how fast the core and the simulator are, in CPU time of one core, on one fleet: 2 masters, 4 workers
and 8 tables under faults of every kind. First the whole simulator runs it, with all checks; then the same
events are given to the core's machines alone; and last it runs for a virtual day, to see whether its memory
grows. The best of a few times counts, since what else runs on the machine only makes it slower.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if hours <= 0 {
				return usagef("--hours is %g; it must be above 0", hours)
			}
			b, err := simBench(hours, 24)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), b)
			}
			return b.print(c.OutOrStdout())
		},
	}
	c.Flags().Float64Var(&hours, "hours", 4, "virtual hours of faults to measure")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// benchReport is what `sluice sim bench` has measured.
type benchReport struct {
	CoreSteps  int     `json:"core_steps"`
	CoreSpeed  float64 `json:"core_steps_per_cpu_second"`
	Steps      int     `json:"steps"`
	Speed      float64 `json:"steps_per_cpu_second"`
	Merges     int     `json:"merges"`
	Faults     int     `json:"faults"`
	Judged     int     `json:"operations_judged"`
	Hours      float64 `json:"virtual_hours"`
	CPUSeconds float64 `json:"cpu_seconds"`
	PerTable   float64 `json:"merges_per_table_and_virtual_hour"`
	Fewest     float64 `json:"merges_of_the_idlest_table_per_virtual_hour"`
	// HeapMB is what is in use at equal parts of a virtual day, and DayPerTable what was merged on it.
	HeapMB      []float64 `json:"heap_mb"`
	HeapHours   float64   `json:"heap_hours"`
	DayPerTable float64   `json:"day_merges_per_table_and_virtual_hour"`
}

// cpu is the CPU time that this process has used.
func cpu() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("measure the CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// timed is the CPU time of a function on one core, its garbage included: the least of a few times, since it does the
// same each time and whatever makes it slower is somebody else's work on the same machine.
func timed(times int, do func()) (least time.Duration, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for i := range times {
		runtime.GC()
		before, err := cpu()
		if err != nil {
			return 0, err
		}
		do()
		runtime.GC()
		after, err := cpu()
		if err != nil {
			return 0, err
		}
		if took := after - before; i == 0 || took < least {
			least = took
		}
	}
	return least, nil
}

// simBench measures a fleet for so many virtual hours, and its memory over a longer run.
func simBench(hours, longer float64) (b benchReport, err error) {
	var res sim.Result
	took, err := timed(3, func() { res = sim.Run(sim.BenchRun(1, hours)) })
	if err != nil {
		return b, err
	}
	if res.Verdict != sim.Clean {
		return b, &verdictError{res.Verdict, fmt.Sprintf("the fleet that is measured is not clean: %s: %s", res.Verdict, res.Problem)}
	}
	b.Steps, b.Merges, b.Faults, b.Judged = res.Steps, res.Merges, res.Faults, res.Judged
	b.Hours, b.CPUSeconds = res.Virtual.Hours(), took.Seconds()
	b.Speed = float64(b.Steps) / took.Seconds()
	b.PerTable, b.Fewest = perTable(res)

	recording, _ := sim.Record(sim.BenchRun(1, hours))
	if took, err = timed(8, func() { recording.Replay() }); err != nil {
		return b, err
	}
	b.CoreSteps, b.CoreSpeed = recording.Steps(), float64(recording.Steps())/took.Seconds()
	recording = nil

	b.HeapHours = longer
	day := sim.BenchRun(2, b.HeapHours)
	day.Forget = true // the trace of a run grows with it, and is had by running the seed again
	day.Every, day.Look = time.Duration(b.HeapHours/6*float64(time.Hour)), func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.HeapMB = append(b.HeapMB, math.Round(float64(m.HeapAlloc)/1e5)/10)
	}
	if res = sim.Run(day); res.Verdict != sim.Clean {
		return b, &verdictError{res.Verdict, fmt.Sprintf("the fleet that is measured is not clean over a day: %s: %s", res.Verdict, res.Problem)}
	}
	b.DayPerTable, _ = perTable(res)
	return b, nil
}

// perTable is how often a table is merged in a virtual hour: on average, and the one that is merged least.
func perTable(r sim.Result) (average, least float64) {
	hours := r.Virtual.Hours()
	least = math.Inf(1)
	for _, n := range r.MergesOf {
		least = min(least, float64(n)/hours)
	}
	if len(r.MergesOf) < r.Profile.Tables {
		least = 0
	}
	return float64(r.Merges) / hours / float64(r.Profile.Tables), least
}

func (b benchReport) print(w io.Writer) error {
	perHour := 3600 / b.CPUSeconds
	_, err := fmt.Fprintf(w, `bare core        %d steps, %.0f a second and core
whole simulator  %d steps, %.0f a second and core, all checks and the digest on, %d operations judged
in a CPU hour    %.0f steps, %.0f merges, %.0f faults, %.0f virtual hours
merges           %.1f a table and virtual hour, %.1f of the table with the fewest
heap in use      %.1f MB, at equal parts of %g virtual hours with %.1f merges a table and hour
`, b.CoreSteps, b.CoreSpeed, b.Steps, b.Speed, b.Judged,
		float64(b.Steps)*perHour, float64(b.Merges)*perHour, float64(b.Faults)*perHour, b.Hours*perHour,
		b.PerTable, b.Fewest, b.HeapMB, b.HeapHours, b.DayPerTable)
	return err
}
