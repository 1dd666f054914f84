package kvtest

import (
	"slices"
	"testing"

	"github.com/sluice-data/sluice/core"
)

func testLeases(t *testing.T, h Harness) {
	s := h.open(t)
	first := s.write(core.PutLeased("k/worker/a", "1"), core.PutLeased("k/worker/b", "1"), core.Put("k/owner", "1"),
		core.PutLeased("k/worker/kept", "1"), core.Put("k/worker/late", "1"))
	// A leased key is a key like any other while it lasts.
	if got := s.read(core.Prefixed("k/worker/")).Records; len(got) != 4 {
		t.Fatalf("got %v, want four keys", got)
	}
	if answer := s.commit(core.Txn{If: []core.Cond{core.Holds("k/worker/a", "1"), core.Unchanged("k/worker/b", first)}}); answer.Outcome != core.Applied {
		t.Errorf("conditions on leased keys: %v", answer.Outcome)
	}
	// The last write decides: a plain put takes the lease off, a leased one puts it on.
	last := s.write(core.Put("k/worker/kept", "2"), core.PutLeased("k/worker/late", "2"))
	if h.Reopen == nil {
		return
	}

	s = h.reopened(t, s)
	s.expect(all, core.Record{Key: "k/owner", Value: "1", Mod: first}, core.Record{Key: "k/worker/kept", Value: "2", Mod: last})
	now := s.read().Revision
	if now <= last {
		t.Errorf("leases ended without a revision: %d after %d", now, last)
	}
	if answer := s.commit(core.Txn{If: []core.Cond{core.Unchanged("k/worker/a", first)}}); answer.Outcome != core.NotApplied {
		t.Errorf("a registration that ended is still unchanged")
	}

	// Whoever watched before learns of it.
	before := newMirror(all, last)
	before.records = map[string]core.Record{
		"k/owner":       {Key: "k/owner", Value: "1", Mod: first},
		"k/worker/a":    {Key: "k/worker/a", Value: "1", Mod: first},
		"k/worker/b":    {Key: "k/worker/b", Value: "1", Mod: first},
		"k/worker/kept": {Key: "k/worker/kept", Value: "2", Mod: last},
		"k/worker/late": {Key: "k/worker/late", Value: "2", Mod: last},
	}
	before.follow(t, s.Watch(t.Context(), all, last), now)
	if got := before.sorted(); !slices.Equal(got, s.read(all).Records) {
		t.Errorf("a watch over the end of leases shows %v", got)
	}

	// The next process's lease is its own, and nothing of the old one ends it.
	again := s.write(core.PutLeased("k/worker/a", "3"))
	s.expect(core.Range{Key: "k/worker/a"}, core.Record{Key: "k/worker/a", Value: "3", Mod: again})
	s = h.reopened(t, s)
	s.expect(core.Range{Key: "k/worker/a"})
}
