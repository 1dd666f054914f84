package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/core"
)

// RefusedError says why a merge can't be had now.
type RefusedError struct {
	Target core.Target
	Reason core.Reason
}

func (e *RefusedError) Error() string {
	switch e.Reason {
	case core.ReasonNotSelected:
		return fmt.Sprintf("%s is not owned: start with --owned %s, or name it in MERGE_OWNED_TARGETS", e.Target, e.Target)
	case core.ReasonLatched:
		return fmt.Sprintf("%s is latched as owned by an earlier process, but nobody owns it now: start with --owned %s", e.Target, e.Target)
	case core.ReasonDraining:
		return fmt.Sprintf("%s is draining: nothing new is merged until it is owned again", e.Target)
	}
	return fmt.Sprintf("%s can't be merged now: %s", e.Target, e.Reason)
}

// ErrNothingPending says that every generation of a table has been merged.
var ErrNothingPending = errors.New("nothing is pending")

// Request asks for a merge. The executions that serve it, one that runs already among them, have higher
// numbers than after (see [Node.Await]). [ErrNothingPending] if there is nothing to do.
func (n *Node) Request(ctx context.Context, t core.Target) (after uint64, err error) {
	a, err := n.Master.Merge(ctx, t, false)
	switch {
	case err != nil:
		return 0, fmt.Errorf("ask for a merge of %s: %w", t, err)
	case !a.Failure.OK():
		return 0, a.Failure
	case a.Refused != core.ReasonNone:
		return 0, &RefusedError{t, a.Refused}
	case a.Pending == 0:
		return 0, fmt.Errorf("ask for a merge of %s: %w", t, ErrNothingPending)
	}
	return a.After, nil
}

// Await returns the outcome of the first execution with a higher number than after, when it is released.
func (n *Node) Await(ctx context.Context, t core.Target, after uint64) (core.History, error) {
	for b := range n.KV.Watch(ctx, core.HistoryRange(t), 0) {
		for _, rec := range b.Puts {
			h, err := core.Decode[core.History](rec.Key, rec.Value)
			if err != nil {
				return core.History{}, err
			}
			if h.Execution.Number > after {
				return h, nil
			}
		}
	}
	return core.History{}, fmt.Errorf("wait for a merge of %s: %w", t, context.Cause(ctx))
}
