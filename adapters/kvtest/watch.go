package kvtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

func testWatch(t *testing.T, h Harness) {
	s := h.open(t)
	start := s.read().Revision
	live := newMirror(all, start)
	watch := s.Watch(t.Context(), all, start)

	// states[revision] is what the range held then.
	states := map[core.Revision][]core.Record{start: nil}
	step := func(ops ...core.Op) core.Revision {
		rev := s.write(ops...)
		states[rev] = s.read(all).Records
		return rev
	}
	created := step(core.Put("k/a", "1"), core.Put("k/b", "1"))
	step(core.Put("other", "1"))
	step(core.Put("k/a", "2"))
	step(core.Delete("k/a"), core.Put("k/c", "1"))
	step(core.Put("k/a", "3"))
	step(core.DeleteAll(core.Range{Key: "k/b", End: "k/d"}), core.Put("k/d", "1"))
	last := step(core.PutLeased("k/e", "1"))
	step(core.Put("other", "2"))

	compare := func(m *mirror) {
		t.Helper()
		if got, want := m.sorted(), states[m.revision]; !slices.Equal(got, want) {
			t.Errorf("watch at revision %d:\n got %v\nwant %v", m.revision, got, want)
		}
	}
	for live.revision < last {
		live.next(t, watch)
		compare(live)
	}
	// A watch that begins later is told the past, from every revision of it.
	for from := start; from < last; from++ {
		m := newMirror(all, from)
		for _, r := range states[from] {
			m.records[r.Key] = r
		}
		replay := s.Watch(t.Context(), all, from)
		for m.revision < last {
			m.next(t, replay)
			compare(m)
		}
	}
	// Before the first revision there was nothing.
	dawn := newMirror(all, 0)
	dawn.follow(t, s.Watch(t.Context(), all, 0), last)
	compare(dawn)

	// A watch of one key, and of a range that nothing happens in, are told of nothing else.
	one := newMirror(core.Range{Key: "k/b"}, created)
	one.records["k/b"] = core.Record{Key: "k/b", Value: "1", Mod: created}
	key := s.Watch(t.Context(), one.of, created)
	quiet := newMirror(core.Prefixed("k/quiet/"), created)
	silence := s.Watch(t.Context(), quiet.of, created)
	one.next(t, key)
	if len(one.records) != 0 {
		t.Errorf("watch of one key shows %v after its delete", one.sorted())
	}
	end := s.write(core.Put("k/quiet/a", "1"), core.Put("k/b", "2"))
	one.follow(t, key, end)
	if b := quiet.next(t, silence); b.Revision != end {
		t.Errorf("watch of a quiet range: got %+v, want only revision %d", b, end)
	}
	live.follow(t, watch, end)
	if got, want := live.sorted(), s.read(all).Records; !slices.Equal(got, want) {
		t.Errorf("watch at the end:\n got %v\nwant %v", got, want)
	}
}

func testWatchEnds(t *testing.T, h Harness) {
	s := h.open(t)
	rev := s.write(core.Put("k/a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	idle, unread := s.Watch(ctx, all, rev), s.Watch(ctx, all, 0)
	mine := s.Watch(t.Context(), all, rev)
	cancel()
	for range idle { // ends, or the test never does
	}
	for range unread {
	}
	// One watch's end is not another's.
	m := newMirror(all, rev)
	m.follow(t, mine, s.write(core.Put("k/b", "1")))
	s.close()
	for range mine {
	}
}

// testSlowWatch writes more than any store should keep for a reader that doesn't read: no write may wait
// for it, and once it reads again it must end up with the truth.
func testSlowWatch(t *testing.T, h Harness) {
	s := h.open(t)
	start := s.read().Revision
	watch := s.Watch(t.Context(), all, start)
	m := newMirror(all, start)
	m.follow(t, watch, s.write(core.Put("k/first", "1"), core.Put("k/gone", "1")))
	s.write(core.Delete("k/gone"))
	for i := range 12 {
		s.write(core.Put(fmt.Sprintf("k/%d", i%4), fmt.Sprint(i)+strings.Repeat("v", 1<<20)))
	}
	last := s.write(core.Put("k/last", "1"))
	m.follow(t, watch, last)
	if got, want := m.sorted(), s.read(all).Records; !slices.Equal(got, want) {
		t.Errorf("a slow watch has %d records at revision %d, the store has %d, or others", len(got), m.revision, len(want))
	}
	// It goes on as if nothing had been.
	m.follow(t, watch, s.write(core.Delete("k/first"), core.Put("k/next", "1")))
	if got, want := m.sorted(), s.read(all).Records; !slices.Equal(got, want) {
		t.Errorf("a watch that was slow has %d records at revision %d, the store has %d, or others", len(got), m.revision, len(want))
	}
}
