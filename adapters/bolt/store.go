// Package bolt keeps the protocol's records in one bbolt file, for a lake that one process serves.
//
// The file is locked while a process holds it: there is never a second reader or writer. So a lease is
// simple: it ends with the process that holds the file, either in Close or, after a crash, in the next
// Open. A transaction that was answered is on disk (two fsyncs); a crash between any two leaves the last
// one that was committed.
package bolt

import (
	"context"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

var _ kv.KV = (*Store)(nil)

// Store is a [kv.KV] in one file. [Open] makes one.
//
// Writers take turns: a transaction checks its conditions, writes, is synced and is put into changes
// before the next one begins, so that the order of revisions, of the file and of every watch is one
// order. A writer waits for a reader at most while that copies its records, and for a watcher never.
type Store struct {
	path string
	// turn is held by the one writer. It is a channel so that waiting for it ends with a context.
	turn chan struct{}
	// life is held for reading while the database is used and for writing while it is closed.
	life sync.RWMutex
	db   *bbolt.DB // nil once closed
	// alive ends when the store is closed or can't be trusted any more; its cause says which.
	alive context.Context
	end   context.CancelCauseFunc

	changes  *changes
	watchers sync.WaitGroup
}

// use calls do while the database is open and can be trusted.
func (s *Store) use(do func(*bbolt.DB) error) error {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.db == nil {
		return kv.ErrClosed
	}
	if err := context.Cause(s.alive); err != nil {
		return err
	}
	return do(s.db)
}

// Read is [kv.KV.Read]. It sees every committed transaction, because only this process writes.
func (s *Store) Read(ctx context.Context, ranges ...core.Range) (kv.Snapshot, error) {
	for _, r := range ranges {
		if err := kv.CheckRange(r); err != nil {
			return kv.Snapshot{}, fmt.Errorf("read KV file %s: %w", s.path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return kv.Snapshot{}, fmt.Errorf("read KV file %s: %w", s.path, err)
	}
	var snapshot kv.Snapshot
	err := s.use(func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			var err error
			if snapshot.Revision, err = revision(tx); err != nil {
				return err
			}
			snapshot.Records, err = union(tx.Bucket(recordsBucket), ranges)
			return err
		})
	})
	if err != nil {
		return kv.Snapshot{}, fmt.Errorf("read KV file %s: %w", s.path, err)
	}
	return snapshot, nil
}

// Close ends the store, its watches and all leases. Closing a closed store does nothing.
func (s *Store) Close() error {
	err := s.close()
	// A watcher may need life to notice, so this waits without it.
	s.watchers.Wait()
	return err
}

func (s *Store) close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.db == nil {
		return nil
	}
	var leases error
	if context.Cause(s.alive) == nil {
		// NB: this commits even where nothing was leased. bbolt falls back to the older of its two meta
		// pages when the newer one is damaged; after this both show the same records.
		leases = s.db.Update(endLeases)
	}
	s.end(kv.ErrClosed)
	err := s.db.Close()
	s.db = nil
	if leases != nil {
		return fmt.Errorf("end the leases in KV file %s: %w", s.path, leases)
	}
	if err != nil {
		return fmt.Errorf("close KV file %s: %w", s.path, err)
	}
	return nil
}
