package embedded

import (
	"context"

	"github.com/sluice-data/sluice/core"
)

// Progress is how far the current execution of a target is; zero if none runs here.
func (n *Node) Progress(ctx context.Context, t core.Target) core.Counters {
	e, ok := n.Worker.Running(t)
	if !ok {
		return core.Counters{}
	}
	s, err := n.Worker.Status(ctx, t, e)
	if err != nil {
		return core.Counters{}
	}
	return s.Counters
}
