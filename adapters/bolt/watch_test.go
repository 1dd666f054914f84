package bolt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

var all = core.Prefixed("k/")

// TestAWatchBeginsWithASnapshotWhereThePastIsForgotten covers the three ways to ask for too much.
func TestAWatchBeginsWithASnapshotWhereThePastIsForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	early := put(t, s, core.Put("k/a", "1"))
	put(t, s, core.Put("k/b", "1"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	now := read(t, s).Revision
	for name, from := range map[string]core.Revision{"the beginning": 0, "before this process": early, "beyond the last revision": now + 5} {
		b := <-s.Watch(t.Context(), all, from)
		if !b.Reset || b.Revision != now || len(b.Puts) != 2 || len(b.Deletes) != 0 {
			t.Errorf("watch from %s: got %+v, want a snapshot of two records at %d", name, b, now)
		}
	}
	// From where the file stood when it was opened, everything is known.
	watch := s.Watch(t.Context(), all, now)
	next := put(t, s, core.Delete("k/a"))
	if b := <-watch; b.Reset || b.Revision != next || len(b.Deletes) != 1 {
		t.Errorf("watch from now: got %+v, want one delete at %d", b, next)
	}
}

// TestAReaderThatFallsBehindIsSentASnapshot keeps the memory of a store bounded whatever its readers do.
func TestAReaderThatFallsBehindIsSentASnapshot(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	watch := s.Watch(t.Context(), all, read(t, s).Revision)
	first := put(t, s, core.Put("k/a", "1"))
	if b := <-watch; b.Reset || b.Revision != first {
		t.Fatalf("got %+v, want the put at %d", b, first)
	}
	var last core.Revision
	for range 8 {
		last = put(t, s, core.Put("k/a", strings.Repeat("v", 1<<20)), core.Delete("k/b"))
	}
	// Batches may have been on their way before the reader fell behind; then comes the snapshot, or the
	// store would have had to keep more than it may.
	reset := false
	for rev := first; rev < last; {
		b := <-watch
		rev, reset = b.Revision, reset || b.Reset
		if len(b.Puts) != 1 || b.Puts[0].Mod != rev {
			t.Errorf("got %d records at %d, want the one of that revision", len(b.Puts), rev)
		}
	}
	if !reset {
		t.Error("no snapshot came")
	}
}
