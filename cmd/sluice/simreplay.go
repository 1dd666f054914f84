package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/sim"
)

type simReplay struct {
	shrink bool
	until  int
	// history is the file for what was asked and answered; "" for none.
	history string
	html    string
}

func simReplayCommand() *cobra.Command {
	var o simReplay
	c := &cobra.Command{
		Use:   "replay TRACE",
		Short: "Play a trace again, make it smaller, or stop in the middle of it",
		Long:  "Play a trace again that `sluice sim run` has written.\n\n" + simExits,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s takes one trace, a file that sluice sim run has written; it got %d", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.OutOrStdout(), args[0]) },
	}
	c.Flags().BoolVar(&o.shrink, "shrink", false, "delete choices for as long as it still fails, and write TRACE.small")
	c.Flags().StringVar(&o.history, "history", "", "file for the history of the run")
	c.Flags().IntVar(&o.until, "until", 0, "stop at this step and print the whole state")
	c.Flags().StringVar(&o.html, "html", "", "draw the run as a page in this file")
	return c
}

func (o simReplay) run(out io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open the trace: %w", err)
	}
	defer f.Close()
	t, err := sim.ReadTrace(f)
	if err != nil {
		return fmt.Errorf("trace %s: %w", name, err)
	}
	if o.shrink {
		if t, err = o.smaller(out, t, name+".small"); err != nil {
			return err
		}
	}
	r, err := withHistory(o.history, func(h io.Writer) sim.Result {
		return sim.Replay(t, sim.Options{Timeline: true, Until: o.until, History: h})
	})
	if err != nil {
		return err
	}
	if o.html != "" {
		if err := drawn(o.html, r); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, r.Profile)
	printFailure(out, r)
	if o.shrink {
		for _, c := range t.Choices {
			fmt.Fprintf(out, "choice %s #%d = %d\n", c.Stream, c.N, c.Value)
		}
	}
	fmt.Fprintf(out, "seed %d, %d choices, %d steps, digest %016x\n", r.Seed, len(t.Choices), r.Steps, r.Digest)
	if o.until == 0 && t.Digest != "" && t.Digest != fmt.Sprintf("%016x", r.Digest) {
		fmt.Fprintf(out, "NB: the trace was made by another program (%s): its digest was %s\n", t.Commit, t.Digest)
	}
	if r.Verdict != sim.Clean {
		return &verdictError{r.Verdict, fmt.Sprintf("%s: seed %d is not clean", name, r.Seed)}
	}
	return nil
}

func (o simReplay) smaller(out io.Writer, t sim.Trace, name string) (sim.Trace, error) {
	before := len(t.Choices)
	t = sim.Shrink(t, func(int) bool { return true })
	f, err := os.Create(name)
	if err != nil {
		return t, fmt.Errorf("write the smaller trace: %w", err)
	}
	if err := t.Write(f); err != nil {
		return t, fmt.Errorf("write the smaller trace: %w", err)
	}
	fmt.Fprintf(out, "%d of %d choices are enough; the trace is in %s\n", len(t.Choices), before, name)
	return t, f.Close()
}
