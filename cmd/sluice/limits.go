package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/core"
)

// limitFlags adds the time limits. The two that a slow table may need are shown; the others are for drills.
func limitFlags(c *cobra.Command) *limits {
	l := &limits{}
	f := c.Flags()
	f.DurationVar(&l.NoProgress, "no-progress", 10*time.Minute, "cancel a merge that completed nothing for so long")
	f.DurationVar(&l.Execution, "execution-limit", time.Hour, "cancel a merge that ran for so long; 0 is no limit")
	f.DurationVar(&l.Queue, "queue-limit", 10*time.Minute, "give up on a reserved merge that doesn't start")
	f.DurationVar(&l.CancelGrace, "cancel-grace", time.Minute, "freeze a cancelled merge that doesn't end")
	f.DurationVar(&l.Barrier, "barrier", 2*time.Minute, "bound one try to occupy every admitted version")
	f.DurationVar(&l.Poll, "poll", time.Minute, "look at owned tables so often")
	for _, name := range []string{"queue-limit", "cancel-grace", "barrier", "poll"} {
		_ = f.MarkHidden(name) // it is one of those above
	}
	return l
}

// limits are time limits as flags give them.
type limits struct{ core.Limits }

// resolve says what is wrong, and puts the limits as core takes them.
func (l *limits) resolve() (core.Limits, error) {
	out := l.Limits
	if out.Execution == 0 {
		out.Execution = core.NoExecutionLimit
	}
	for _, d := range []time.Duration{out.Probe + 1, out.NoProgress, out.Queue, out.CancelGrace, out.Barrier, out.Poll, l.Execution + 1} {
		if d <= 0 {
			return out, usagef("a time limit must be above 0; only --execution-limit may be 0")
		}
	}
	return out, nil
}
