package core_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// lake is the storage of the miniature world. A table is its versions and its shards; each version
// carries the rows by key, so that what a merge did to them can be seen.
type lake struct {
	tables map[core.Target]*table
	down   bool
}

type table struct {
	versions []version // version n is at n-1
	shards   []*shard
	numbers  []core.Number
	// truth are the rows as their writers know them.
	truth map[string]string
	rows  int     // rows written so far, to name the next
	lost  sstable // the generation that a scenario has taken away
}

type version struct {
	core.BaseManifest
	rows map[string]string
	by   string
}

type shard struct {
	id       core.ShardID
	version  core.Version
	sstables []sstable
}

// sstable holds rows by key; an empty value is a tombstone.
type sstable struct {
	generation core.Generation
	size       core.Bytes
	rows       map[string]string
}

func newTable(shards int) *table {
	t := &table{truth: map[string]string{}}
	t.versions = []version{{
		BaseManifest: core.BaseManifest{Version: 1, Scheme: core.V2, MemWAL: true, PrimaryKey: true, Operation: core.OpOverwrite},
		rows:         map[string]string{}, by: "its maker",
	}}
	for i := range shards {
		t.shards = append(t.shards, &shard{id: core.ShardID(fmt.Sprintf("s%03d", i+1)), version: 1})
	}
	return t
}

func (t *table) head() version { return t.versions[len(t.versions)-1] }

// flush adds one generation to a shard: a new row, an older row again, and sometimes a tombstone.
func (t *table) flush(s *shard) {
	next := core.Generation(1)
	if n := len(s.sstables); n > 0 {
		next = s.sstables[n-1].generation + 1
	}
	t.rows++
	rows := map[string]string{
		fmt.Sprintf("%s/%d", s.id, next):   fmt.Sprintf("new %d", t.rows),
		fmt.Sprintf("%s/%d", s.id, next/2): fmt.Sprintf("again %d", t.rows),
	}
	if next%3 == 0 {
		rows[fmt.Sprintf("%s/%d", s.id, next-1)] = ""
	}
	s.sstables = append(s.sstables, sstable{next, 1, rows})
	s.version++
	overlay(t.truth, rows)
}

func overlay(rows, over map[string]string) {
	for k, v := range over {
		if v == "" {
			delete(rows, k)
		} else {
			rows[k] = v
		}
	}
}

// view is what a reader sees: the base, overlaid with the generations above the marks.
func (t *table) view() map[string]string {
	head := t.head()
	rows := maps.Clone(head.rows)
	for _, s := range t.shards {
		for _, st := range s.sstables {
			if st.generation > head.Marks.Of(s.id) {
				overlay(rows, st.rows)
			}
		}
	}
	return rows
}

// publish puts the next version, if it is absent.
func (t *table) publish(m core.BaseManifest, rows map[string]string, by string) bool {
	if m.Version <= t.head().Version {
		return false
	}
	if m.Version != t.head().Version+1 {
		panic(fmt.Sprintf("v%d of %s would leave a gap after v%d", m.Version, by, t.head().Version))
	}
	t.versions = append(t.versions, version{m, rows, by})
	return true
}

// foreign is the commit of a user's own program: a row of its own.
func (t *table) foreign() core.Version {
	m, rows := t.head().BaseManifest, maps.Clone(t.head().rows)
	m.Version++
	m.ReadVersion, m.Operation = m.Version-1, core.OpAppend
	t.rows++
	key := fmt.Sprintf("client/%d", t.rows)
	rows[key], t.truth[key] = "appended", "appended"
	t.publish(m, rows, "client")
	return m.Version
}

func (t *table) shard(id core.ShardID) *shard {
	i := slices.IndexFunc(t.shards, func(s *shard) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return t.shards[i]
}

// clone is a copy as a backup would hold it.
func (t *table) clone() *table {
	c := &table{
		versions: slices.Clone(t.versions), numbers: slices.Clone(t.numbers),
		truth: maps.Clone(t.truth), rows: t.rows,
	}
	for _, s := range t.shards {
		c.shards = append(c.shards, &shard{s.id, s.version, slices.Clone(s.sstables)})
	}
	return c
}

func (t *table) pending() int {
	n := 0
	for _, s := range t.shards {
		for _, st := range s.sstables {
			if st.generation > t.head().Marks.Of(s.id) {
				n++
			}
		}
	}
	return n
}

func (l *lake) survey(target core.Target) (core.Table, []core.Number, core.Failure) {
	if l.down {
		return core.Table{}, nil, core.Failure{Code: core.CodeStorage, Detail: "the lake is away"}
	}
	t, ok := l.tables[target]
	if !ok {
		return core.Table{}, nil, core.Failure{Code: core.CodeTableMissing, Detail: "there is no table"}
	}
	out := core.Table{Target: target, Base: t.head().BaseManifest}
	for _, s := range t.shards {
		m := core.ShardManifest{Shard: s.id, Version: s.version}
		for _, st := range s.sstables {
			m.SSTables = append(m.SSTables, core.SSTable{Generation: st.generation, Size: st.size})
		}
		out.Shards = append(out.Shards, m)
	}
	return out, slices.Clone(t.numbers), core.Failure{}
}

// fence does what the port promises of a [core.PutFence].
func (l *lake) fence(f core.PutFence) (core.Outcome, core.Failure) {
	t, ok := l.tables[f.Target]
	if l.down || !ok {
		return core.Unknown, core.Failure{Code: core.CodeStorage, Detail: "the lake is away"}
	}
	head := t.head()
	if !f.Adopt && head.TableID != f.TableID {
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
	m, by := head.BaseManifest, "a fence"
	m.Version, m.ReadVersion, m.Operation = f.Version, head.Version, core.OpUpdateConfig
	if f.Adopt {
		m.TableID, by = f.TableID, "adoption"
	}
	t.publish(m, head.rows, by)
	return core.Applied, core.Failure{}
}

func (l *lake) number(target core.Target, n core.Number) (core.ExecutionID, core.Failure) {
	t, ok := l.tables[target]
	if l.down || !ok {
		return "", core.Failure{Code: core.CodeStorage, Detail: "the lake is away"}
	}
	for _, o := range t.numbers {
		if o.N == n.N {
			return o.Execution, core.Failure{}
		}
	}
	t.numbers = append(t.numbers, n)
	return "", core.Failure{}
}

// describe is the table in one line.
func (t *table) describe() string {
	var marks []string
	for _, m := range t.head().Marks {
		marks = append(marks, m.String())
	}
	if len(marks) > 4 {
		marks = append(marks[:4], fmt.Sprintf("and %d more", len(marks)-4))
	}
	same := "equal to what was written"
	switch {
	case t.lost.rows != nil:
		same = "incomplete: a generation is lost"
	case !maps.Equal(t.view(), t.truth):
		same = "NOT WHAT WAS WRITTEN"
	}
	return fmt.Sprintf("v%d by %s, merged [%s], %d pending, rows %s", t.head().Version, t.head().by, strings.Join(marks, " "), t.pending(), same)
}
