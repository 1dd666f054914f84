package sim

import (
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// Checks of cleanups: nothing that somebody may still read leaves a table (invariants 4 and 10), and every drain is
// admitted like a commit (2 and 3). They look at the table itself and know nothing of how core decides.

// draws notes who sends a drain: its number must be admitted by then.
func (c *checks) draws(e core.PutDrain) {
	w := Get[core.Watermarks](c.w.kv, core.AdmittedKey(e.Target))
	if w.Execution == e.Execution && w.Of(core.ShardResource(e.Shard)) < e.Version {
		c.fail(3, "v%d of shard %s of %s is sent, admitted was v%d", e.Version, e.Shard, e.Target, w.Of(core.ShardResource(e.Shard)))
	}
	t := c.w.lake.tables[e.Target]
	r := Get[core.Reclaim](c.w.kv, core.ReclaimKey(e.Target))
	for _, gone := range e.SSTables {
		if w.Execution == e.Execution && !slices.Contains(r.SSTables, gone) {
			c.fail(10, "generation %d of shard %s of %s is drained, and stands in no record", gone.Generation, e.Shard, e.Target)
		}
		for _, v := range t.versions {
			at, tagged := t.tags[v.Version]
			if tagged && at < c.began[e.Execution] && v.Marks.Of(gone.Shard) < gone.Generation {
				c.fail(4, "generation %d of shard %s of %s is drained, and the tagged v%d needs it", gone.Generation, e.Shard, e.Target, v.Version)
			}
		}
	}
}

// drained checks a drain at the moment at which it takes effect.
func (c *checks) drained(e core.PutDrain, t *table, s *shard) {
	x := Get[core.Execution](c.w.kv, core.ExecutionKey(e.Target))
	if x.ID != e.Execution || x.Phase == core.Recovered || x.Phase == core.Finished {
		c.fail(2, "v%d of shard %s of %s, by %s, lands while the table has %s %q", e.Version, s.id, e.Target, e.Execution, x.ID, x.Phase)
	}
	head := t.head()
	for _, gone := range e.SSTables {
		switch {
		case head.Marks.Of(s.id) < gone.Generation && !c.aside[e.Target]:
			c.fail(4, "generation %d of shard %s of %s is drained, the base covers %d", gone.Generation, s.id, e.Target, head.Marks.Of(s.id))
		case head.Indexes > 0 && head.Indexed.Of(s.id) < gone.Generation && !t.rewritten:
			c.fail(4, "generation %d of shard %s of %s is drained, its index covers %d", gone.Generation, s.id, e.Target, head.Indexed.Of(s.id))
		}
	}
	if x.Phase == core.Recovering {
		c.w.cover.rare("a drain lands during the barrier")
	}
}

// deletes checks a batch of deletes at the moment at which it takes effect.
func (c *checks) deletes(e core.DeleteFiles, t *table) {
	if x := Get[core.Execution](c.w.kv, core.ExecutionKey(e.Target)); c.leap == 0 && (x.ID == "" || x.Phase == core.Recovered) {
		for _, s := range t.shards {
			if slices.ContainsFunc(s.unlisted, func(st sstable) bool { return s.named(e.Names, st) }) {
				c.fail(2, "a batch of deletes of %s lands after the table was given back", e.Target)
			}
		}
	}
	for _, s := range t.shards {
		for _, st := range s.sstables {
			if s.named(e.Names, st) {
				c.fail(10, "generation %d of shard %s of %s is deleted, and its manifest names it", st.generation, s.id, e.Target)
			}
		}
	}
}

func (s *shard) named(names []string, st sstable) bool {
	return slices.Contains(names, "_mem_wal/"+string(s.id)+"/"+s.path(st.generation))
}

// upkeep checks a commit that merges nothing: no row and no mark of the table changes.
func (c *checks) upkeep(a *attempt) {
	was := a.table.shown(1)
	allowed := map[core.Kind]string{core.KindCompact: "ReserveFragments Rewrite CreateIndex", core.KindIndex: "CreateIndex"}[a.engine.exec.Kind]
	if !slices.Contains(strings.Fields(allowed), string(a.body.Operation)) {
		c.fail(4, "v%d of %s, by a %s, is a commit of kind %s", a.body.Version, a.target, a.engine.exec.Kind, a.body.Operation)
	}
	if !a.body.Marks.Equal(was.Marks) {
		c.fail(4, "v%d of %s, by a %s, moves the marks", a.body.Version, a.target, a.engine.exec.Kind)
	}
}
