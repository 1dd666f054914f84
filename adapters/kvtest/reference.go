package kvtest

import (
	"maps"
	"slices"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// reference is a KV as one would write it down: a value, and a function from one to the next. It is what
// a real store is compared with, so it shares no code with any.
type reference struct {
	revision core.Revision
	records  map[string]core.Record
	leased   map[string]bool
}

func newReference(revision core.Revision) reference {
	return reference{revision: revision, records: map[string]core.Record{}, leased: map[string]bool{}}
}

// commit returns what a valid transaction makes of the reference, which stays as it is.
func (r reference) commit(t core.Txn) (reference, kv.Answer) {
	for _, c := range t.If {
		if !r.holds(c) {
			return r, kv.Answer{Outcome: core.NotApplied, Revision: r.revision}
		}
	}
	next := reference{revision: r.revision + 1, records: maps.Clone(r.records), leased: maps.Clone(r.leased)}
	wrote := false
	for _, o := range t.Then {
		switch o.Op {
		case core.OpPut:
			next.records[o.Key] = core.Record{Key: o.Key, Value: o.Value, Mod: next.revision}
			next.leased[o.Key] = o.Leased
			wrote = true
		case core.OpDeleteKey:
			wrote = next.remove(core.Range{Key: o.Key}) || wrote
		case core.OpDeleteRange:
			wrote = next.remove(core.Range{Key: o.Key, End: o.End}) || wrote
		}
	}
	if !wrote {
		next = r
	}
	return next, kv.Answer{Outcome: core.Applied, Revision: next.revision}
}

func (r reference) holds(c core.Cond) bool {
	record, exists := r.records[c.Key]
	switch c.Op {
	case core.CondHolds:
		return exists && record.Value == c.Value
	case core.CondAbsent:
		return !exists
	case core.CondUnchanged:
		return record.Mod == c.Rev
	case core.CondRangeUnchanged:
		for _, record := range r.read(core.Range{Key: c.Key, End: c.End}) {
			if record.Mod > c.Rev {
				return false
			}
		}
		return true
	}
	panic("the suite makes no other conditions")
}

// remove takes a range out and reports whether anything was in it.
func (r reference) remove(gone core.Range) bool {
	before := len(r.records)
	maps.DeleteFunc(r.records, func(key string, _ core.Record) bool { return gone.Contains(key) })
	return len(r.records) < before
}

func (r reference) read(ranges ...core.Range) []core.Record {
	var found []core.Record
	for _, key := range slices.Sorted(maps.Keys(r.records)) {
		if slices.ContainsFunc(ranges, func(a core.Range) bool { return a.Contains(key) }) {
			found = append(found, r.records[key])
		}
	}
	return found
}

// restarted is what the next process finds; revision is the one it finds it at.
func (r reference) restarted() reference {
	next := reference{revision: r.revision, records: maps.Clone(r.records), leased: map[string]bool{}}
	for key := range r.records {
		if r.leased[key] {
			delete(next.records, key)
		}
	}
	if len(next.records) < len(r.records) {
		next.revision++
	}
	return next
}

// lastChange is the newest revision at which a range differs from the revision before it.
func lastChange(states map[core.Revision]reference, r core.Range) core.Revision {
	revisions := slices.Sorted(maps.Keys(states))
	for i := len(revisions) - 1; i > 0; i-- {
		if !slices.Equal(states[revisions[i]].read(r), states[revisions[i-1]].read(r)) {
			return revisions[i]
		}
	}
	return 0
}

func (r reference) equal(o reference) bool {
	return r.revision == o.revision && maps.Equal(r.records, o.records)
}
