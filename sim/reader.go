package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// snapshot is a table as a reader has opened it.
type snapshot struct {
	table  *table
	base   version
	shards [][]sstable // those above the marks
	view   map[string]string
}

func (t *table) open() snapshot {
	o := snapshot{table: t, base: t.head(), view: t.view()}
	t.opened = o.base.Marks
	for _, s := range t.shards {
		o.shards = append(o.shards, slices.Clone(s.above(o.base.Marks.Of(s.id))))
	}
	return o
}

// read reads the table again as it was; missing is a shard of which something is not there any more.
func (o snapshot) read() (rows map[string]string, missing core.ShardID) {
	rows = maps.Clone(o.base.rows)
	for _, v := range o.table.versions {
		if v.Version == o.base.Version && v.rows != nil {
			rows = maps.Clone(v.rows)
		}
	}
	for i, had := range o.shards {
		s := o.table.shards[i]
		for _, st := range had {
			has, ok := s.has(st.generation)
			if !ok {
				return nil, s.id
			}
			overlay(rows, has.rows)
		}
	}
	return rows, ""
}

// has is an SSTable whose directory is there, whether a manifest names it or not.
func (s *shard) has(g core.Generation) (sstable, bool) {
	if listed := s.above(g - 1); len(listed) > 0 && listed[0].generation == g {
		return listed[0], true
	}
	i := slices.IndexFunc(s.unlisted, func(st sstable) bool { return st.generation == g })
	if i < 0 {
		return sstable{}, false
	}
	return s.unlisted[i], true
}

// reads has a reader open a table, read it again now and then within the grace, and open it anew.
func (r *run) reads(t core.Target) {
	o, left, grace := r.w.lake.tables[t].open(), 3, r.graces().Reader
	var again func()
	again = func() {
		if r.w.lake.tables[t] == o.table && !o.table.gone { // the reader of a table that a user has dropped gives up
			r.w.checks.reader(t, o)
		}
		if left--; left > 0 {
			r.w.after(grace/4, again)
			return
		}
		r.reads(t)
	}
	r.w.after(grace/6+time.Duration(r.src.jitter("reader/"+string(t), int64(grace/6))), again)
}
