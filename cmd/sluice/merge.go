package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/core"
)

func mergeCommand() *cobra.Command {
	var o options
	var l *limits
	c := &cobra.Command{
		Use:   "merge --lake DIR TARGET",
		Short: "Merge what is pending of one table, and end",
		Long: `Merge what is pending of one table, as its owner, and end.

It repeats passes until nothing is pending. Beside a running "sluice dev" on the same lake it asks that
process, which must own the table. Exit code 0: merged, or nothing to do. 1: failed, after the third attempt
or at once where another attempt can't help. 2: the command line is wrong.`,
		Example: "  sluice merge --lake ./lake db/events",
		Args:    oneTarget,
		RunE: func(c *cobra.Command, args []string) error {
			t, err := target(args[0])
			if err == nil {
				err = o.check()
			}
			if err != nil {
				return err
			}
			bounds, err := l.resolve()
			if err != nil {
				return err
			}
			ctx, stop := interruptible(c.Context())
			defer stop()
			return merge(ctx, o, t, bounds, c.OutOrStdout())
		},
	}
	o.flags(c)
	o.quiet(c)
	l = limitFlags(c)
	return c
}

func merge(ctx context.Context, o options, t core.Target, bounds core.Limits, out io.Writer) (err error) {
	g, err := survey(ctx, o.lake, o.python)
	if err != nil {
		return err
	}
	defer g.close()
	if err := embedded.CheckTable(ctx, g.lake, t); err != nil {
		return err
	}
	show := newBars(os.Stderr)
	show.off = o.json
	m := merging{api: g.other, target: t, show: show}
	if !g.busy {
		n, err := start(ctx, settings{
			lake: g.lake.Dir(), python: g.python, http: freePort, owned: []core.Target{t}, limits: bounds, log: o.log(),
		})
		if err != nil {
			return err
		}
		// Nothing of ours runs any more, or it was interrupted: then a moment is enough to cancel it.
		defer func() { err = errors.Join(err, n.stop(context.WithoutCancel(ctx), time.Second)) }()
		m.api, m.own = n.api, true
	}
	result, err := m.run(ctx)
	if o.json {
		return errors.Join(err, printJSON(out, result))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, result)
	return err
}

// mergeResult is what one call of merge did.
type mergeResult struct {
	Target core.Target `json:"target"`
	// Outcome is merged, nothing_to_do or failed.
	Outcome    string           `json:"outcome"`
	Executions []mergeExecution `json:"executions"`
	// Generations and Rows were pending before and are not any more.
	Generations int           `json:"generations"`
	Rows        int64         `json:"rows"`
	From        core.Version  `json:"from_version"`
	To          core.Version  `json:"to_version"`
	Seconds     float64       `json:"seconds"`
	Failure     *core.Failure `json:"failure,omitempty"`
}

// mergeExecution is one attempt.
type mergeExecution struct {
	Number uint64           `json:"number"`
	ID     core.ExecutionID `json:"id"`
	Merged bool             `json:"merged"`
	Code   core.Code        `json:"code,omitempty"`
	Detail string           `json:"detail,omitempty"`
}

func (r mergeResult) String() string {
	if r.Outcome == outcomeNothing {
		return fmt.Sprintf("%s: nothing to do", r.Target)
	}
	return fmt.Sprintf("%s: merged %s with %s in %s, base v%d to v%d, %.1f s",
		r.Target, count(r.Generations, "generation"), count(r.Rows, "row"), count(len(r.Executions), "execution"), r.From, r.To, r.Seconds)
}

// count is a number with its noun.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

const (
	outcomeMerged  = "merged"
	outcomeNothing = "nothing_to_do"
	outcomeFailed  = "failed"
)
