package bolt

import (
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// TestAWriteThatShowsButMayNotBeOnDiskEndsTheStore takes the place of an fsync that fails after the new
// state is visible: what is read from then on could vanish with the machine.
func TestAWriteThatShowsButMayNotBeOnDiskEndsTheStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	put := core.Txn{Name: "put", Then: []core.Op{core.PutLeased("k/a", "1")}}
	answer, err := s.Commit(t.Context(), put)
	if err != nil {
		t.Fatal(err)
	}
	watch := s.Watch(t.Context(), core.Prefixed("k/"), answer.Revision)
	failure := errors.New("input/output error")
	err = s.use(func(db *bbolt.DB) error { return s.doubt(db, answer.Revision-1, failure) })
	if !errors.Is(err, failure) {
		t.Errorf("got error %v", err)
	}
	if answer, err := s.Commit(t.Context(), put); !errors.Is(err, failure) || answer.Outcome != core.Unknown {
		t.Errorf("commit: got %v and error %v", answer.Outcome, err)
	}
	if _, err := s.Read(t.Context(), core.Prefixed("k/")); !errors.Is(err, failure) {
		t.Errorf("read: got error %v", err)
	}
	if b, open := <-watch; open {
		t.Errorf("the watch goes on: %+v", b)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(t.Context()); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("read after close: got error %v", err)
	}
	// What did reach the disk is there for the next process.
	s, err = Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(t.Context()); err != nil || got.Revision != answer.Revision+1 {
		t.Errorf("got revision %d and error %v, want that of the end of the lease, %d", got.Revision, err, answer.Revision+1)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
