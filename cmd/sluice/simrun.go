package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/sim"
)

type simRun struct {
	seed     uint64
	seeds    string
	hours    float64
	parallel int
	json     bool
	profile  string
	html     string
	trace    string
	history  string
}

func simRunCommand() *cobra.Command {
	var o simRun
	c := &cobra.Command{
		Use:   "run",
		Short: "Run seeds, and stop at the first that is not clean",
		Long:  "Run seeds, each a fleet with faults of its own, and stop at the first that breaks an invariant.\nIts trace is written to a file for `sluice sim replay`.\n\nProfiles, each of which leaves only one kind of trouble of what a seed draws:\n" + sim.Profiles() + "\n" + simExits,
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout(), c.Flags().Changed("seed"))
		},
	}
	c.Flags().Uint64Var(&o.seed, "seed", 0, "run this seed alone (default: one that nobody has run before)")
	c.Flags().StringVar(&o.seeds, "seeds", "", "run the seeds A..B")
	c.Flags().Float64Var(&o.hours, "hours", 1, "virtual hours of faults of each seed")
	c.Flags().IntVar(&o.parallel, "parallel", runtime.NumCPU(), "seeds at a time")
	c.Flags().StringVar(&o.trace, "trace", "", "file for the trace of a run that is not clean (default sim-SEED.jsonl)")
	c.Flags().StringVar(&o.history, "history", "", "file for the history of the one seed that is run")
	c.Flags().StringVar(&o.profile, "profile", "drawn", "narrow the faults to a named profile, see above")
	c.Flags().StringVar(&o.html, "html", "", "draw the one seed that is run, or the one that fails, as a page in this file")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// maxHours is how long the faults of one seed may last: a year.
const maxHours = 8784

// bounds are the first and the last seed.
func (o simRun) bounds(given bool) (first, last uint64, err error) {
	switch {
	case !(o.hours > 0 && o.hours <= maxHours):
		return 0, 0, usagef("--hours is %g; it must be above 0, and %d at most", o.hours, maxHours)
	case o.seeds == "" && !given:
		now := uint64(time.Now().UnixMilli())
		return now, now, nil
	case o.seeds == "":
		return o.seed, o.seed, nil
	case given:
		return 0, 0, usagef("--seed and --seeds don't go together")
	}
	a, b, ok := strings.Cut(o.seeds, "..")
	first, errA := strconv.ParseUint(a, 10, 64)
	last, errB := strconv.ParseUint(b, 10, 64)
	if !ok || errA != nil || errB != nil || last < first || last == math.MaxUint64 {
		return 0, 0, usagef("--seeds is %q; write it as A..B, for example 1..1000", o.seeds)
	}
	return first, last, nil
}

// batch is what came of all runs.
type batch struct {
	mu       sync.Mutex
	Runs     int            `json:"runs"`
	Verdicts map[string]int `json:"verdicts"`
	Steps    int            `json:"steps"`
	Merges   int            `json:"merges"`
	Faults   int            `json:"faults"`
	Hours    float64        `json:"virtual_hours"`
	Seconds  float64        `json:"seconds"`
	Seeds    []seedResult   `json:"seeds"` // in order
	worst    sim.Verdict
	failed   *sim.Result // the one with the lowest seed
	timeouts []uint64
	listed   bool // each seed is told
}

// seedResult is what came of one seed. The digest is of all its steps: the same on every machine.
type seedResult struct {
	Seed    uint64      `json:"seed"`
	Digest  string      `json:"digest"`
	Steps   int         `json:"steps"`
	Verdict sim.Verdict `json:"verdict"`
}

func (b *batch) add(r sim.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listed {
		b.Seeds = append(b.Seeds, seedResult{r.Seed, fmt.Sprintf("%016x", r.Digest), r.Steps, r.Verdict})
	}
	b.Runs++
	b.Verdicts[string(r.Verdict)]++
	b.Steps += r.Steps
	b.Merges += r.Merges
	b.Faults += r.Faults
	b.Hours += r.Virtual.Hours()
	b.worst = worse(b.worst, r.Verdict)
	switch {
	case r.Verdict == sim.Timeout:
		b.timeouts = append(b.timeouts, r.Seed)
	case r.Verdict != sim.Clean && (b.failed == nil || r.Seed < b.failed.Seed):
		b.failed = &r
	}
}

func (o simRun) run(ctx context.Context, out io.Writer, given bool) error {
	first, last, err := o.bounds(given)
	if err != nil {
		return err
	}
	profile, err := sim.ProfileNamed(o.profile, first, o.hours)
	if err != nil {
		return usagef("--profile: %v", err)
	}
	b := &batch{Verdicts: map[string]int{}, worst: sim.Clean, listed: o.json}
	if first == last && !o.json {
		fmt.Fprintln(out, profile)
	}
	began := time.Now()
	switch {
	case o.history != "" && first != last:
		return usagef("--history takes the history of one seed, and %d..%d are more", first, last)
	case o.history != "":
		r, err := withHistory(o.history, func(h io.Writer) sim.Result {
			return sim.Run(sim.Options{Seed: first, Hours: o.hours, Profile: &profile, History: h})
		})
		if err != nil {
			return err
		}
		b.add(r)
	default:
		o.all(ctx, b, first, last)
	}
	b.Seconds = time.Since(began).Seconds()
	if b.failed != nil {
		if err := o.explain(out, *b.failed); err != nil {
			return err
		}
	}
	if b.failed == nil && o.html != "" && first == last {
		if err := drawn(o.html, sim.Run(sim.Options{Seed: first, Hours: o.hours, Profile: &profile, Timeline: true})); err != nil {
			return err
		}
	}
	if err := o.sum(out, b, first, last); err != nil {
		return err
	}
	if b.worst != sim.Clean {
		return &verdictError{b.worst, fmt.Sprintf("%d of %d runs are not clean (%s)", b.Runs-b.Verdicts[string(sim.Clean)], b.Runs, b.worst)}
	}
	return nil
}

// all runs the seeds, a few at a time, until one of them fails.
func (o simRun) all(ctx context.Context, b *batch, first, last uint64) {
	bars := newBars(os.Stderr)
	bars.unit, bars.off = "seeds", o.json || first == last
	watching, done := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() {
		bars.watch(watching, "sim", func() (int64, int64) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return int64(b.Runs), int64(last - first + 1)
		})
	})
	var next atomic.Uint64
	next.Store(first)
	var workers sync.WaitGroup
	for range max(1, o.parallel) {
		workers.Go(func() {
			for {
				seed := next.Add(1) - 1
				b.mu.Lock()
				stop := b.failed != nil
				b.mu.Unlock()
				if seed > last || stop || ctx.Err() != nil {
					return
				}
				p, _ := sim.ProfileNamed(o.profile, seed, o.hours) // its name was looked up before
				b.add(sim.Run(sim.Options{Seed: seed, Hours: o.hours, Profile: &p}))
			}
		})
	}
	workers.Wait()
	done()
	shown.Wait()
}

// explain says what is known of a failure, and writes its trace.
func (o simRun) explain(out io.Writer, r sim.Result) error {
	name := o.trace
	if name == "" {
		name = fmt.Sprintf("sim-%d.jsonl", r.Seed)
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the trace of seed %d: %w", r.Seed, err)
	}
	if err := sim.TraceOf(r, version).Write(f); err != nil {
		return fmt.Errorf("write the trace of seed %d: %w", r.Seed, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the trace of seed %d: %w", r.Seed, err)
	}
	again, err := withHistory(besideTrace(name), func(h io.Writer) sim.Result {
		return sim.Replay(sim.TraceOf(r, version), sim.Options{Timeline: true, History: h})
	})
	if err == nil && o.html != "" {
		err = drawn(o.html, again)
	}
	if err != nil || o.json {
		return err
	}
	fmt.Fprintln(out, r.Profile)
	printFailure(out, again)
	fmt.Fprintf(out, "commit %s; the trace is in %s: sluice sim replay --shrink %s\n", version, name, name)
	fmt.Fprintf(out, "what was asked and answered is in %s\n", besideTrace(name))
	return nil
}

// drawn writes the page of a run.
func drawn(name string, r sim.Result) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the page of seed %d: %w", r.Seed, err)
	}
	if err := writePage(f, r); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the page of seed %d: %w", r.Seed, err)
	}
	return nil
}

// printFailure shows the end of what mattered in a run, its state and what is wrong.
func printFailure(out io.Writer, r sim.Result) {
	const shown = 60
	lines := r.Mattered()
	if other := len(r.Timeline) - len(lines); other > 0 {
		fmt.Fprintf(out, "%d lines about other tables and processes are left out (--html shows all of them)\n", other)
	}
	if n := len(lines); n > shown {
		fmt.Fprintf(out, "… %d lines before\n", n-shown)
	}
	for _, line := range lines[max(0, len(lines)-shown):] {
		fmt.Fprintln(out, line.Clock())
	}
	fmt.Fprint(out, r.State)
	fmt.Fprintf(out, "%s: %s\n", r.Verdict, r.Problem)
}

func (o simRun) sum(out io.Writer, b *batch, first, last uint64) error {
	if o.json {
		type run struct {
			*batch
			First   uint64      `json:"first_seed"`
			Last    uint64      `json:"last_seed"`
			Profile string      `json:"profile"`
			Commit  string      `json:"commit"`
			Verdict sim.Verdict `json:"verdict"`
			Seed    uint64      `json:"failed_seed,omitempty"`
			Problem string      `json:"problem,omitempty"`
		}
		slices.SortFunc(b.Seeds, func(x, y seedResult) int { return cmp.Compare(x.Seed, y.Seed) })
		r := run{batch: b, First: first, Last: last, Profile: o.profile, Commit: version, Verdict: b.worst}
		if b.failed != nil {
			r.Seed, r.Problem = b.failed.Seed, b.failed.Problem
		}
		return printJSON(out, &r)
	}
	fmt.Fprintf(out, "seeds %d..%d: %d runs, %d clean; %d steps (%.0f a second), %d merges, %d faults, %.1f virtual hours in %.1f s\n",
		first, last, b.Runs, b.Verdicts[string(sim.Clean)], b.Steps, float64(b.Steps)/max(b.Seconds, 0.001), b.Merges, b.Faults, b.Hours, b.Seconds)
	if len(b.timeouts) > 0 {
		fmt.Fprintf(out, "a checker ran out of its time for the seeds %v\n", b.timeouts)
	}
	return nil
}
