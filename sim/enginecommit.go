package sim

import (
	"maps"

	"github.com/sluice-data/sluice/core"
)

// How an engine publishes its pass, as Lance does.

// strict reports whether the pass has tombstones: Lance does not see a key that somebody inserts between
// the read and a delete of it.
func (en *engine) strict() bool {
	if en.exec.Kind.Maintains() {
		return false
	}
	if en.script.strict || !en.script.real {
		return en.script.strict
	}
	for _, in := range en.inputs {
		for _, st := range in.SSTables {
			if st.Generation%3 == 0 { // see flush
				return true
			}
		}
	}
	return false
}

// commit merges the plan into the base as it is now and asks the gate to put that.
func (w *world) commit(en *engine) {
	if !en.alive() {
		return
	}
	t, ok := w.lake.tables[en.exec.Target]
	if !ok || t.gone || w.lake.down {
		w.endEngine(en, core.Failure{Code: core.CodeStorage, Detail: "the lake is away"})
		return
	}
	behind := w.faults.stale("engine", en.proc.name)
	head := t.shown(behind)
	if en.planned != nil && en.planned.schema != head.schema && en.script.real {
		w.cover.rare("the schema changes between plan and commit")
		w.endEngine(en, core.Failure{Code: core.CodeCommitConflict, Detail: "the schema has changed"})
		return
	}
	if !en.exec.Kind.Maintains() && stale(en, head.Marks) && en.script.real {
		w.cover.rare("an engine finds its pass stale")
		w.endEngine(en, core.Failure{Code: core.CodeStale, Detail: "the marks are there already"})
		return
	}
	a := &attempt{engine: en, target: en.exec.Target, table: t, body: head.BaseManifest, rows: maps.Clone(head.rows), marks: !en.script.two || en.rested, behind: behind}
	a.body.Version, a.body.ReadVersion, a.body.Operation = head.Version+1, head.Version, core.OpUpdate
	for i, in := range en.inputs {
		if s := t.shard(in.Shard); s != nil {
			en.apply(a, s, in.Mark, en.exec.Plan[i].Last)
		}
		if a.marks {
			a.body.Marks = a.body.Marks.With(in.Shard, en.exec.Plan[i].Last)
		}
	}
	if en.exec.Kind.Maintains() {
		en.maintain(a)
	}
	en.tries++
	en.open = a
	intent := core.CommitIntent{Target: en.exec.Target, Execution: en.exec.ID}
	en.misdeed(a)
	intent.Name, intent.Body = core.ManifestName{Version: a.body.Version, Scheme: a.body.Scheme}, a.body
	if en.script.rogue == rogueBody {
		intent.Body.Version++
	}
	if gap := w.faults.gap(en.proc.name); gap > 0 {
		w.after(gap, func() {
			if en.alive() {
				w.brings(a, intent)
			}
		})
		return
	}
	w.brings(a, intent)
}

// stale reports whether the marks stand where the pass would put them, or above.
func stale(en *engine, m core.Marks) bool {
	for _, p := range en.exec.Plan {
		if m.Of(p.Shard) >= p.Last {
			return true
		}
	}
	return false
}

// apply brings the rows of some generations into a commit: newest wins. A tombstone deletes what was there
// when the pass was planned, and nothing that somebody has inserted since.
func (en *engine) apply(a *attempt, s *shard, mark, last core.Generation) {
	merged := map[string]string{}
	for _, st := range s.above(mark) {
		if st.generation <= last {
			maps.Copy(merged, st.rows)
		}
	}
	for _, key := range sortedKeys(merged) {
		value := merged[key]
		switch {
		case value != "":
			if !en.rested || en.planned == nil {
				a.rows[key] = value // with the marks go only deletes, if the rows are there
			}
		case !a.marks && en.script.two:
		case en.planned != nil && en.script.real && en.planned.rows != nil && en.planned.rows[key] == "" && !en.rested:
		default:
			delete(a.rows, key)
		}
	}
}
