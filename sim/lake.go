package sim

import (
	"slices"

	"github.com/sluice-data/sluice/core"
)

// lake is the storage of the virtual cluster: tables, each with a put-if-absent for its next version.
type lake struct {
	tables map[core.Target]*table
	order  []core.Target // of all tables that there have been, sorted
	down   bool
	logged hash
	// moved is told of every version, replaced of every table that is put in the place of another.
	now      func() core.MonoTime
	moved    func(t core.Target, by string, v core.Version)
	replaced func(t core.Target, old *table)
}

func newLake() *lake {
	return &lake{tables: map[core.Target]*table{}, logged: newHash(), now: func() core.MonoTime { return 0 }}
}

// place puts a table into the lake, over what is there.
func (l *lake) place(target core.Target, t *table) {
	t.now = l.now
	t.changed = func(by string, v core.Version) {
		l.logged.text(string(target))
		l.logged.text(by)
		l.logged.number(uint64(v))
		l.moved(target, by, v)
	}
	old, again := l.tables[target]
	l.tables[target] = t
	if !again {
		l.order = sortedKeys(l.tables)
	}
	if again || t.head().Version > 1 {
		t.rewritten = true
		l.replaced(target, old)
	}
}

var lakeAway = core.Failure{Code: core.CodeStorage, Detail: "the lake is away"}

// survey reads the manifests of a table as they were some versions ago; deep, also what it still has of older ones.
func (l *lake) survey(target core.Target, behind int, deep bool) (core.Table, []core.Number, core.Failure) {
	if l.down {
		return core.Table{}, nil, lakeAway
	}
	t, ok := l.tables[target]
	if !ok || t.gone {
		return core.Table{}, nil, core.Failure{Code: core.CodeTableMissing, Detail: "there is no table"}
	}
	shown := t.shown(behind)
	out := core.Table{Target: target, Base: shown.BaseManifest}
	if deep {
		out.Versions = t.deep(behind, l.now())
	}
	for _, s := range t.shards {
		m := core.ShardManifest{Shard: s.id, Version: s.version}
		if s.id == t.corrupt {
			m.Torn = "the newest manifest of shard " + string(s.id) + " can't be read"
			out.Shards = append(out.Shards, m)
			continue
		}
		// NB: what is far below the mark is not told. The core looks at it nowhere, and the cost of a long
		// run must not grow with its length.
		from := min(t.head().Marks.Of(s.id), shown.Marks.Of(s.id))
		from = max(from, 4) - 4
		if deep {
			from = 0
		}
		for _, st := range s.above(from) {
			m.SSTables = append(m.SSTables, core.SSTable{Generation: st.generation, Size: st.size, Path: s.path(st.generation)})
		}
		out.Shards = append(out.Shards, m)
	}
	return out, slices.Clone(t.numbers), core.Failure{}
}

// fence does what the port promises of a [core.PutFence].
func (l *lake) fence(f core.PutFence) (core.Outcome, core.Failure) {
	t, ok := l.tables[f.Target]
	if l.down || !ok || t.gone {
		return core.Unknown, lakeAway
	}
	head := t.head()
	if !f.Adopt && head.TableID != f.TableID && !out(fenceAnyTable) {
		return core.Unknown, core.Failure{Code: core.CodeTableReplaced, Detail: "another table stands there"}
	}
	if f.Resource != core.Base {
		id, _ := f.Resource.Shard()
		if s := t.shard(id); s != nil && f.Version == s.version+1 {
			s.version++
			return core.Applied, core.Failure{}
		}
		return core.NotApplied, core.Failure{}
	}
	if f.Version != head.Version+1 {
		return core.NotApplied, core.Failure{}
	}
	m, by, rows := head.BaseManifest, "a fence", head.rows
	m.Version, m.ReadVersion, m.Operation = f.Version, head.Version, core.OpUpdateConfig
	if f.Adopt {
		m.TableID, by = f.TableID, "adoption"
	}
	if out(fenceDropsRows) {
		rows = map[string]string{}
	}
	t.publish(m, rows, by)
	return core.Applied, core.Failure{}
}

// number writes an execution's name under its number, if that is absent, and returns who holds it already.
func (l *lake) number(target core.Target, n core.Number) (core.ExecutionID, core.Failure) {
	t, ok := l.tables[target]
	if l.down || !ok || t.gone {
		return "", lakeAway
	}
	for _, o := range t.numbers {
		if o.N == n.N {
			return o.Execution, core.Failure{}
		}
	}
	t.numbers = append(t.numbers, n)
	if len(t.numbers) > 8 { // the last ones stay, as in the real lake
		t.numbers = slices.Delete(t.numbers, 0, len(t.numbers)-4)
	}
	return "", core.Failure{}
}
