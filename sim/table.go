package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// table is an abstract Lance table: a chain of versions, shards with their SSTables, and the rows by key,
// so that what a merge did to them can be seen.
type table struct {
	versions []version // sorted; the newest is the head
	shards   []*shard
	numbers  []core.Number
	// truth are the rows as their writers know them.
	truth   map[string]string
	rows    int          // rows written so far, to name the next
	lost    sstable      // the generation that a scenario has taken away
	corrupt core.ShardID // the shard whose newest manifest can't be read
	dirty   bool         // something has changed since the rows were compared
	flying  int          // manifests on their way to storage
	// rewritten: a user has brought an older state back, so marks that were seen may be gone.
	rewritten bool
	mute      bool // an engine that meets a corrupt SSTable just dies
	gone      bool // it is dropped, and nothing stands at its path
	changed   func(string, core.Version)
	opened    core.Marks // of the version that its reader has opened
	tags      map[core.Version]core.MonoTime
	now       func() core.MonoTime
}

type version struct {
	core.BaseManifest
	rows   map[string]string // nil for versions that are too old to be looked at
	by     string
	schema int // grows with each change of it
	at     core.MonoTime
}

type shard struct {
	id       core.ShardID
	version  core.Version
	sstables []sstable
	corrupt  core.Generation // from this one on no engine can read them; 0: all can be read
	unlisted []sstable       // whose directories are there, and which no manifest names
	last     core.Generation // the newest that there has been
}

// sstable holds rows by key; an empty value is a tombstone.
type sstable struct {
	generation core.Generation
	size       core.Bytes
	rows       map[string]string
}

// keptRows is how many versions of a table keep their rows: as many as a restore may go back.
const keptRows = 8

func newTable(shards int) *table {
	t := &table{truth: map[string]string{}, dirty: true, now: func() core.MonoTime { return 0 }}
	t.versions = []version{{
		BaseManifest: core.BaseManifest{Version: 1, Scheme: core.V2, MemWAL: true, PrimaryKey: true, Operation: core.OpOverwrite},
		rows:         map[string]string{}, by: "its maker",
	}}
	for i := range shards {
		t.shards = append(t.shards, &shard{id: core.ShardID(fmt.Sprintf("s%03d", i+1)), version: 1})
	}
	return t
}

func (t *table) head() version { return t.shown(0) }

// shown is the version that a look sees which is so many versions behind.
func (t *table) shown(behind int) version { return t.versions[max(0, len(t.versions)-1-behind)] }

// flush adds one generation to a shard: a new row, an older row again, and sometimes a tombstone.
func (t *table) flush(s *shard) {
	s.last++
	next := s.last
	t.rows++
	key := func(g core.Generation) string { return fmt.Sprintf("%s/%d", s.id, g%12) }
	rows := map[string]string{key(next): fmt.Sprintf("new %d", t.rows)}
	rows[key(next/2)] = fmt.Sprintf("again %d", t.rows)
	if next%3 == 0 {
		rows[key(next-1)] = ""
	}
	s.sstables = append(s.sstables, sstable{next, 1, rows})
	s.version++
	t.dirty = true
	overlay(t.truth, rows)
}

func overlay(rows, over map[string]string) {
	for _, k := range sortedKeys(over) {
		if v := over[k]; v == "" {
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
		for _, st := range s.above(head.Marks.Of(s.id)) {
			maps.Copy(rows, st.rows)
		}
	}
	maps.DeleteFunc(rows, func(_, value string) bool { return value == "" })
	return rows
}

// above are the SSTables above a mark.
func (s *shard) above(mark core.Generation) []sstable {
	i, ok := slices.BinarySearchFunc(s.sstables, mark, func(st sstable, g core.Generation) int { return cmp.Compare(st.generation, g) })
	if ok {
		i++
	}
	return s.sstables[i:]
}

// publish puts the next version, if it is absent. A version below the head lands unseen in the history.
func (t *table) publish(m core.BaseManifest, rows map[string]string, by string) bool {
	if m.Version <= t.head().Version && (m.Version < t.head().Version || !out(putOverwrites)) {
		return false
	}
	if m.Version == t.head().Version {
		t.versions = t.versions[:len(t.versions)-1]
	}
	if m.Version != t.head().Version+1 {
		panic(fmt.Sprintf("v%d of %s would leave a gap after v%d", m.Version, by, t.head().Version))
	}
	t.changedRows(&m)
	t.versions = append(t.versions, version{m, rows, by, t.head().schema, t.now()})
	if n := len(t.versions); n > keptRows {
		t.versions[n-1-keptRows].rows = nil
	}
	if n := len(t.versions); n > 64 {
		t.versions = slices.Delete(t.versions, 0, n-32)
	}
	for _, s := range t.shards {
		t.forget(s)
	}
	t.dirty = true
	if t.changed != nil {
		t.changed(by, m.Version)
	}
	return true
}

// forget drops SSTables that no version which a restore could bring back has above its marks, nor the one that
// a reader has opened. A few below stay,
// for a look at the lake shows them.
func (t *table) forget(s *shard) {
	const shown, enough = 8, 256
	if len(s.sstables) < enough {
		return
	}
	low := t.opened.Of(s.id)
	for _, v := range t.versions {
		if v.rows != nil {
			low = min(low, v.Marks.Of(s.id))
		}
	}
	s.sstables = slices.Clone(s.above(max(low, shown) - shown))
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
		truth: maps.Clone(t.truth), rows: t.rows, dirty: true, mute: t.mute, changed: t.changed, tags: maps.Clone(t.tags), now: t.now,
	}
	for _, s := range t.shards {
		c.shards = append(c.shards, &shard{s.id, s.version, slices.Clone(s.sstables), s.corrupt, slices.Clone(s.unlisted), s.last})
	}
	return c
}

func (t *table) pending() int {
	n := 0
	for _, s := range t.shards {
		n += len(s.above(t.head().Marks.Of(s.id)))
	}
	return n
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
