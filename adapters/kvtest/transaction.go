package kvtest

import (
	"testing"

	"github.com/sluice-data/sluice/core"
)

func testConditions(t *testing.T, h Harness) {
	s := h.open(t)
	old := s.write(core.Put("k/a/old", "x"), core.Put("k/empty", ""))
	mod := s.write(core.Put("k/a/new", "1"))
	gone := s.write(core.Put("k/gone/1", "1"))
	last := s.write(core.Delete("k/gone/1"))
	other := s.write(core.Put("k/b", "1"))
	under := core.Prefixed("k/a/")
	for _, c := range []struct {
		name string
		cond core.Cond
		want core.Outcome
	}{
		{"an equal value holds", core.Holds("k/a/new", "1"), core.Applied},
		{"another value doesn't hold", core.Holds("k/a/new", "2"), core.NotApplied},
		{"a longer value doesn't hold", core.Holds("k/a/new", "11"), core.NotApplied},
		{"a shorter value doesn't hold", core.Holds("k/a/new", ""), core.NotApplied},
		{"an empty value holds", core.Holds("k/empty", ""), core.Applied},
		{"a missing key doesn't hold an empty value", core.Holds("k/none", ""), core.NotApplied},
		{"a deleted key holds nothing", core.Holds("k/gone/1", "1"), core.NotApplied},
		{"a missing key is absent", core.Absent("k/none"), core.Applied},
		{"a deleted key is absent", core.Absent("k/gone/1"), core.Applied},
		{"a prefix of a key is absent", core.Absent("k/a/"), core.Applied},
		{"a key is not absent", core.Absent("k/a/new"), core.NotApplied},
		{"a key with an empty value is not absent", core.Absent("k/empty"), core.NotApplied},
		{"a key is unchanged since its write", core.Unchanged("k/a/new", mod), core.Applied},
		{"a key is changed since an earlier write", core.Unchanged("k/a/new", mod-1), core.NotApplied},
		{"a key was not written at a later revision", core.Unchanged("k/a/new", other), core.NotApplied},
		{"a key is not unchanged since 0", core.Unchanged("k/a/new", 0), core.NotApplied},
		{"a missing key is unchanged since 0", core.Unchanged("k/none", 0), core.Applied},
		{"a deleted key is unchanged since 0", core.Unchanged("k/gone/1", 0), core.Applied},
		{"a deleted key is changed since its write", core.Unchanged("k/gone/1", gone), core.NotApplied},
		{"a range is unchanged since its last write", core.RangeUnchanged(under, mod), core.Applied},
		{"a range is unchanged since later", core.RangeUnchanged(under, other), core.Applied},
		{"a range is changed since one of its writes", core.RangeUnchanged(under, old), core.NotApplied},
		{"a range with keys is changed since 0", core.RangeUnchanged(under, 0), core.NotApplied},
		{"an empty range is unchanged since 0", core.RangeUnchanged(core.Prefixed("k/none/"), 0), core.Applied},
		{"a range doesn't see what went away", core.RangeUnchanged(core.Prefixed("k/gone/"), gone-1), core.Applied},
		{"the end of a range is not in it", core.RangeUnchanged(core.Range{Key: "k/a/", End: "k/b"}, mod), core.Applied},
		{"the start of a range is in it", core.RangeUnchanged(core.Range{Key: "k/b", End: "k/c"}, last), core.NotApplied},
		{"a range without an end is the one key", core.RangeUnchanged(core.Range{Key: "k/a/old"}, old), core.Applied},
		{"a range that is one key sees its write", core.RangeUnchanged(core.Range{Key: "k/a/new"}, old), core.NotApplied},
	} {
		// Each condition stands alone, first and last, and none changes what the next one looks at.
		for _, conds := range [][]core.Cond{
			{c.cond},
			{c.cond, core.Absent("k/none")},
			{core.Absent("k/none"), c.cond},
		} {
			before := s.read().Revision
			answer := s.commit(core.Txn{Name: "try", If: conds, Then: []core.Op{core.Put("k/tried", c.name)}})
			want := before
			if c.want == core.Applied {
				want++
			}
			if answer.Outcome != c.want || answer.Revision != want {
				t.Errorf("%s: %v: got %v at %d, want %v at %d",
					c.name, conds, answer.Outcome, answer.Revision, c.want, want)
			}
		}
	}
}

func testAllOrNothing(t *testing.T, h Harness) {
	s := h.open(t)
	mod := s.write(core.Put("k/a", "1"), core.Put("k/b", "1"))
	answer := s.commit(core.Txn{
		Name: "half",
		If:   []core.Cond{core.Holds("k/a", "1"), core.Holds("k/b", "2")},
		Then: []core.Op{core.Put("k/a", "2"), core.Delete("k/b"), core.Put("k/c", "2")},
	})
	if answer.Outcome != core.NotApplied || answer.Revision != mod {
		t.Errorf("got %v at %d, want not applied at %d", answer.Outcome, answer.Revision, mod)
	}
	s.expect(all, core.Record{Key: "k/a", Value: "1", Mod: mod}, core.Record{Key: "k/b", Value: "1", Mod: mod})
	// Conditions look at the state before the transaction, not at its own writes.
	answer = s.commit(core.Txn{
		Name: "whole",
		If:   []core.Cond{core.Holds("k/a", "1"), core.Absent("k/c")},
		Then: []core.Op{core.Put("k/a", "2"), core.Delete("k/b"), core.Put("k/c", "2")},
	})
	if answer.Outcome != core.Applied || answer.Revision != mod+1 {
		t.Errorf("got %v at %d, want applied at %d", answer.Outcome, answer.Revision, mod+1)
	}
	s.expect(all, core.Record{Key: "k/a", Value: "2", Mod: mod + 1}, core.Record{Key: "k/c", Value: "2", Mod: mod + 1})
}

func testWrites(t *testing.T, h Harness) {
	s := h.open(t)
	odd := "\x00\xff\n\"µ"
	mod := s.write(core.Put("k/db", "1"), core.Put("k/db%2Fevents", "2"), core.Put("k/db0", "3"), core.Put("k/"+odd, odd))
	s.expect(core.Range{Key: "k/" + odd}, core.Record{Key: "k/" + odd, Value: odd, Mod: mod})
	s.write(core.Delete("k/" + odd))

	// A target whose name continues another's is not swept away with it.
	s.write(core.DeleteAll(core.Prefixed("k/db/")))
	s.write(core.DeleteAll(core.Range{Key: "k/db", End: "k/db%"}))
	s.expect(all, core.Record{Key: "k/db%2Fevents", Value: "2", Mod: mod}, core.Record{Key: "k/db0", Value: "3", Mod: mod})

	// Deletes may overlap.
	end := s.write(core.Delete("k/db0"), core.DeleteAll(all), core.DeleteAll(core.Range{Key: "k/db0"}))
	s.expect(all)

	// A key that comes back is new.
	back := s.write(core.Put("k/db0", "4"))
	if back != end+1 {
		t.Errorf("got revision %d after %d", back, end)
	}
	s.expect(all, core.Record{Key: "k/db0", Value: "4", Mod: back})
}

func testRevisions(t *testing.T, h Harness) {
	s := h.open(t)
	start := s.read().Revision
	if start < 1 {
		t.Errorf("an empty store has revision %d; 0 stands for an absent key", start)
	}
	first := s.write(core.Put("k/a", "1"), core.Put("k/b", "1"))
	if first != start+1 {
		t.Errorf("two writes in one transaction: got revision %d after %d", first, start)
	}
	for name, ops := range map[string][]core.Op{
		"nothing to do":             nil,
		"delete of a missing key":   {core.Delete("k/none")},
		"delete of an empty range":  {core.DeleteAll(core.Prefixed("k/none/"))},
		"both, and a range of one":  {core.Delete("k/none"), core.DeleteAll(core.Range{Key: "k/none"})},
		"delete right behind a key": {core.DeleteAll(core.Range{Key: "k/b\x00", End: "k/c"})},
	} {
		if got := s.write(ops...); got != first {
			t.Errorf("%s: got revision %d, want still %d", name, got, first)
		}
	}
	// The same value again is a write: whoever compares the revision must see it.
	if got := s.write(core.Put("k/a", "1")); got != first+1 {
		t.Errorf("put of the same value: got revision %d, want %d", got, first+1)
	}
	s.expect(all, core.Record{Key: "k/a", Value: "1", Mod: first + 1}, core.Record{Key: "k/b", Value: "1", Mod: first})
	if h.Reopen == nil {
		return
	}
	// Deletes leave no record that would carry the revision over.
	last := s.write(core.DeleteAll(all))
	s = h.reopened(t, s)
	if got := s.read().Revision; got < last {
		t.Errorf("after reopening: got revision %d, it was %d", got, last)
	}
	if got := s.write(core.Put("k/a", "2")); got <= last {
		t.Errorf("first write after reopening: got revision %d, it was %d", got, last)
	}
}
