package main

import (
	"fmt"
	"io"
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
grows.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if hours <= 0 {
				return usagef("--hours is %g; it must be above 0", hours)
			}
			b, err := simBench(hours)
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
	Hours      float64 `json:"virtual_hours"`
	CPUSeconds float64 `json:"cpu_seconds"`
	PerTable   float64 `json:"merges_per_table_and_virtual_hour"`
	HeapMB     []int   `json:"heap_mb"` // in use, at equal parts of a day
	HeapHours  float64 `json:"heap_hours"`
}

// cpu is the CPU time that this process has used.
func cpu() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("measure the CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// timed is the CPU time of a function on one core, its garbage included.
func timed(do func()) (time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.GC()
	before, err := cpu()
	if err != nil {
		return 0, err
	}
	do()
	runtime.GC()
	after, err := cpu()
	return after - before, err
}

func simBench(hours float64) (b benchReport, err error) {
	var res sim.Result
	took, err := timed(func() { res = sim.Run(sim.BenchRun(1, hours)) })
	if err != nil {
		return b, err
	}
	if res.Verdict != sim.Clean {
		return b, &verdictError{res.Verdict, fmt.Sprintf("the fleet that is measured is not clean: %s: %s", res.Verdict, res.Problem)}
	}
	b.Steps, b.Merges, b.Faults, b.Hours, b.CPUSeconds = res.Steps, res.Merges, res.Faults, res.Virtual.Hours(), took.Seconds()
	b.Speed = float64(b.Steps) / took.Seconds()
	b.PerTable = float64(b.Merges) / b.Hours / float64(res.Profile.Tables)

	recording, _ := sim.Record(sim.BenchRun(1, hours))
	if took, err = timed(func() { recording.Replay() }); err != nil {
		return b, err
	}
	b.CoreSteps, b.CoreSpeed = recording.Steps(), float64(recording.Steps())/took.Seconds()
	recording = nil

	b.HeapHours = 24
	day := sim.BenchRun(2, b.HeapHours)
	day.Every, day.Look = time.Duration(b.HeapHours/6*float64(time.Hour)), func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.HeapMB = append(b.HeapMB, int(m.HeapInuse>>20))
	}
	sim.Run(day)
	return b, nil
}

func (b benchReport) print(w io.Writer) error {
	perHour := 3600 / b.CPUSeconds
	_, err := fmt.Fprintf(w, `bare core        %d steps, %.0f a second and core
whole simulator  %d steps, %.0f a second and core, all checks and the digest on
in a CPU hour    %.0f steps, %.0f merges, %.0f faults, %.0f virtual hours
merges           %.1f a table and virtual hour
heap in use      %v MB, at equal parts of %g virtual hours
`, b.CoreSteps, b.CoreSpeed, b.Steps, b.Speed,
		float64(b.Steps)*perHour, float64(b.Merges)*perHour, float64(b.Faults)*perHour, b.Hours*perHour,
		b.PerTable, b.HeapMB, b.HeapHours)
	return err
}
