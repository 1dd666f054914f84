package rest

import (
	"context"

	"github.com/sluice-data/sluice/core"
)

// Progress is what happens on a table right now. It reads records only, so it may be polled often.
type Progress struct {
	Target core.Target `json:"target"`
	// Running is the current execution, in whatever phase.
	Running *core.Execution `json:"running"`
	// Counters are its completed work: from its worker if that is this process, else from the records.
	Counters core.Counters `json:"counters"`
	// Reason says why nothing runs; empty while something does.
	Reason   core.Reason          `json:"reason"`
	Failures []core.FailureRecord `json:"failures"`
}

func (a *api) progress(ctx context.Context, in *targetInput) (*body[Progress], error) {
	t, err := parse(in.Target)
	if err != nil {
		return nil, err
	}
	v, err := a.view(ctx, core.Range{Key: core.ExecutionKey(t)}, core.Range{Key: core.ProgressKey(t)}, core.FailureRange(t))
	if err != nil {
		return nil, err
	}
	tv := v.Target(t)
	p := Progress{Target: t, Running: tv.Execution.Pointer(), Counters: tv.Progress.Value.Counters, Failures: failuresOf(tv)}
	if p.Running == nil {
		p.Counters = core.Counters{}
		p.Reason = a.cfg.Master.Why(t)
		return &body[Progress]{p}, nil
	}
	if s, err := a.cfg.Worker.Status(ctx, t, p.Running.ID); err == nil && s.Known {
		p.Counters = s.Counters
	}
	return &body[Progress]{p}, nil
}
