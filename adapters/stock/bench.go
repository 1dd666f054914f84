package stock

import (
	"context"
	"time"
)

// BenchSetup makes a table of rows × 64 floats, and n generations of batch rows each in one shard, half of
// them updates and half new keys. Zero values are those of the bench: 500,000 rows, 64 × 1,000.
func (c *Clients) BenchSetup(ctx context.Context, t Table, rows, n, batch int) error {
	args := map[string]any{"table": t}
	for name, value := range map[string]int{"rows": rows, "generations": n, "batch": batch} {
		if value > 0 {
			args[name] = value
		}
	}
	return c.Do(ctx, "bench-setup", args, nil)
}

// BenchLoop merges every pending generation in a commit of its own, as a cron job of plain pylance does,
// and returns how long that took: from the opened table to the last commit.
func (c *Clients) BenchLoop(ctx context.Context, t Table) (time.Duration, error) {
	var result struct {
		Seconds float64 `json:"seconds"`
	}
	err := c.Do(ctx, "bench-loop", map[string]any{"table": t}, &result)
	return time.Duration(result.Seconds * float64(time.Second)), err
}
