package sim

import "github.com/sluice-data/sluice/core"

// replaced notes how far the table stood in which an execution had its versions admitted, when a user put another one in
// its place. No recovery can look at the table and write to the KV in one step: it is right if it saw every admitted
// version occupied before that, whatever the other one shows.
func (c *checks) replaced(t core.Target, old *table) {
	if e := Get[core.Execution](c.w.kv, core.ExecutionKey(t)); e.ID != "" && old != nil {
		c.occupied[e.ID] = max(c.occupied[e.ID], old.head().Version)
	}
}
