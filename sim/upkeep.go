package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// What maintenance has to do with a table: fragments that compaction rewrites and indexes take in, tags, and the
// directories of SSTables that have left their shard's manifest.

// changedRows notes in the next manifest what a commit of this operation does to fragments and indexes.
func (t *table) changedRows(m *core.BaseManifest) {
	was := t.head().BaseManifest
	switch m.Operation {
	case core.OpUpdateConfig, core.OpRestore, core.OpMerge:
	case core.OpRewrite:
		m.Small = 1
	case core.OpCreateIndex:
		m.Uncovered, m.Indexed = 0, m.Marks
	default:
		m.Small, m.Uncovered = was.Small+1, was.Uncovered
		if m.Indexes > 0 {
			m.Uncovered++
		}
	}
}

// index gives a table an index that has taken in nothing yet.
func (t *table) index() {
	h := &t.versions[len(t.versions)-1]
	h.Indexes, h.Uncovered = 1, 1
}

// compacts is the user's own compaction.
func (t *table) compacts() {
	m := t.head().BaseManifest
	m.Version, m.ReadVersion, m.Operation = m.Version+1, m.Version, core.OpRewrite
	t.publish(m, t.head().rows, "client")
}

// tag keeps the version that many before the head.
func (t *table) tag(behind int, now core.MonoTime) {
	if t.tags == nil {
		t.tags = map[core.Version]core.MonoTime{}
	}
	t.tags[t.shown(behind).Version] = now
}

// path names the directory of an SSTable; names are never used again.
func (s *shard) path(g core.Generation) string { return fmt.Sprintf("%s_gen_%d", s.id, g) }

// drain publishes a manifest of the shard without some SSTables; their directories stay.
func (s *shard) drain(gone []core.Reclaimed) {
	s.version++
	s.sstables = slices.DeleteFunc(slices.Clone(s.sstables), func(st sstable) bool {
		leaves := slices.ContainsFunc(gone, func(r core.Reclaimed) bool { return r.Generation == st.generation && r.Path == s.path(st.generation) })
		if leaves {
			s.unlisted = append(s.unlisted, st)
		}
		return leaves
	})
}

// deep are the versions of a base that still exist, as a survey sees them that is so many versions behind.
func (t *table) deep(behind int, now core.MonoTime) (out []core.KeptVersion) {
	for _, v := range t.versions[:max(1, len(t.versions)-behind)] {
		_, tagged := t.tags[v.Version]
		out = append(out, core.KeptVersion{Version: v.Version, Age: now.Since(v.at), Marks: v.Marks, Tagged: tagged})
	}
	return out
}

// sends is a write to the lake that may land late, or land and be answered badly, as manifests do.
func (w *world) sends(p *process, what string, most time.Duration, land func() core.Outcome, tell func(core.Outcome) core.Event) {
	fate := w.faults.put(p.name)
	fate.lands = min(fate.lands, most)
	w.ask(p, request{kind: "lake", what: what}, func() core.Event {
		switch {
		case fate.never:
			return tell(core.Unknown)
		case fate.lands > 0:
			w.cover.rare("a " + what + " lands late")
			w.after(fate.lands, func() { land() })
			return tell(core.Unknown)
		}
		if outcome := land(); fate.answer == 200 {
			return tell(outcome)
		}
		return tell(core.Unknown)
	}, tell(core.Unknown))
}

func (w *world) putDrain(p *process, e core.PutDrain) {
	t := w.lake.tables[e.Target]
	w.checks.draws(e)
	w.sends(p, "drain", 24*time.Hour, func() core.Outcome {
		s := t.shard(e.Shard)
		switch {
		case w.lake.down || t.gone || w.lake.tables[e.Target] != t || t.head().TableID != e.TableID:
			return core.Unknown
		case s == nil || e.Version != s.version+1:
			return core.NotApplied
		}
		w.checks.drained(e, t, s)
		s.drain(e.SSTables)
		w.say("lake", "%s: shard %s v%d without %d SSTables", e.Target, e.Shard, e.Version, len(e.SSTables))
		return core.Applied
	}, func(o core.Outcome) core.Event { return core.Drained{Effect: e.ID, Outcome: o} })
}

// deleteFiles deletes directories. What is sent lands within a while, or never.
func (w *world) deleteFiles(p *process, e core.DeleteFiles) {
	t := w.lake.tables[e.Target]
	w.sends(p, "delete", core.DeletesWait/2, func() core.Outcome {
		if w.lake.down || t.gone || w.lake.tables[e.Target] != t {
			return core.Unknown
		}
		w.checks.deletes(e, t)
		for _, s := range t.shards {
			leaves := func(st sstable) bool {
				return slices.Contains(e.Names, "_mem_wal/"+string(s.id)+"/"+s.path(st.generation))
			}
			s.unlisted = slices.DeleteFunc(slices.Clone(s.unlisted), leaves)
			s.sstables = slices.DeleteFunc(slices.Clone(s.sstables), leaves)
		}
		t.dirty = true
		w.say("lake", "%s: %d directories are deleted", e.Target, len(e.Names))
		return core.Applied
	}, func(o core.Outcome) core.Event {
		if o == core.Applied {
			return core.Deleted{Effect: e.ID}
		}
		return core.Deleted{Effect: e.ID, Failure: lakeSilent}
	})
}

// maintain publishes what an engine of a maintenance kind makes of the base: no row of it changes.
func (en *engine) maintain(a *attempt) {
	a.marks = true
	switch en.exec.Kind {
	case core.KindCompact:
		a.body.Operation, a.body.Small = core.OpRewrite, 1
	case core.KindIndex:
		a.body.Operation, a.body.Uncovered, a.body.Indexed = core.OpCreateIndex, 0, a.body.Marks
	}
}

// overtaken reports whether somebody has compacted the base since an engine read it: nothing can be rebased over
// that which names its fragments.
func (w *world) overtaken(a *attempt) bool {
	for _, v := range a.table.versions {
		if v.Version >= a.body.Version && v.Operation == core.OpRewrite {
			return true
		}
	}
	return false
}
