package embedded

import (
	"context"
	"fmt"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// History is what became of the last executions of a target, oldest first.
func (n *Node) History(ctx context.Context, t core.Target) ([]core.History, error) {
	return decodeAll[core.History](ctx, n.KV, core.HistoryRange(t))
}

// Takeovers is what the last recoveries of a target did, oldest first.
func (n *Node) Takeovers(ctx context.Context, t core.Target) ([]core.Takeover, error) {
	return decodeAll[core.Takeover](ctx, n.KV, core.TakeoverRange(t))
}

func decodeAll[R any](ctx context.Context, store kv.KV, r core.Range) ([]R, error) {
	s, err := store.Read(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read %s…: %w", r.Key, err)
	}
	out := make([]R, 0, len(s.Records))
	for _, rec := range s.Records {
		value, err := core.Decode[R](rec.Key, rec.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}
