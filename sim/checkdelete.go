package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// deletable are the kinds of records that each transaction may delete. Nothing else ever goes: not the record of
// a table, and no policy, no latch but by a person's word (invariant 10).
var deletable = map[string][]string{
	"reserve":      {"demand"},
	"release":      {"owner", "execution", "admitted", "progress", "failure", "demand", "history", "takeover", "deletes"},
	"post-demand":  {"demand"},
	"expire":       {"master", "worker", "load"},
	"reclaim":      {"reclaim"},
	"have-deleted": {"reclaim", "deletes"},
	"mode":         {"mode", "policy"}, // a person's, as the next two
	"policy":       {"policy"},
	"forget":       {"failure"},
}

// deleted checks one delete of an applied transaction.
func (c *checks) deleted(t core.Txn, op core.Op, before map[string]core.Record) {
	for _, key := range sortedKeys(before) {
		if !(core.Range{Key: op.Key, End: op.End}).Contains(key) {
			continue
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, core.Root), "/")
		if !slices.Contains(deletable[t.Name], kind) {
			c.fail(10, "%s deletes %s", t.Name, key)
		}
		if now, ok := released(t); ok && kind == "history" {
			if was := decode[core.History](before[key]).Execution.Number; was+core.KeptHistory > now.Execution.Number {
				c.fail(10, "the release of execution %d deletes the history of execution %d", now.Execution.Number, was)
			}
		}
	}
}

// reader checks that a reader who has opened a table sees it as it was.
func (c *checks) reader(name core.Target, o snapshot) {
	rows, missing := o.read()
	switch {
	case missing != "":
		c.fail(10, "a generation of %s of %s is gone under a reader who opened v%d", missing, name, o.base.Version)
	case !maps.Equal(rows, o.view):
		c.fail(4, "a reader who opened v%d of %s reads other rows now", o.base.Version, name)
	}
}
