package bolt

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// Commit is [kv.KV.Commit]. The context bounds the wait for other writers; once its turn has come, the
// transaction is carried through.
func (s *Store) Commit(ctx context.Context, t core.Txn) (kv.Answer, error) {
	if err := kv.Check(t); err != nil {
		return kv.Answer{Outcome: core.NotApplied}, fmt.Errorf("commit %s: %w", t.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return kv.Answer{}, fmt.Errorf("commit %s: %w", t.Name, err)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return kv.Answer{}, fmt.Errorf("commit %s: wait for other writers: %w", t.Name, ctx.Err())
	}
	var answer kv.Answer
	err := s.use(func(db *bbolt.DB) (err error) {
		answer, err = s.commit(db, t)
		return err
	})
	if errors.Is(err, kv.ErrClosed) {
		answer.Outcome = core.NotApplied
	}
	if err != nil {
		return answer, fmt.Errorf("commit %s to KV file %s: %w", t.Name, s.path, err)
	}
	return answer, nil
}

func (s *Store) commit(db *bbolt.DB, t core.Txn) (kv.Answer, error) {
	tx, err := db.Begin(true)
	if err != nil {
		return kv.Answer{}, err
	}
	defer func() { _ = tx.Rollback() }() // after a Commit there is nothing left to roll back
	before, err := revision(tx)
	if err != nil {
		return kv.Answer{}, err
	}
	records := tx.Bucket(recordsBucket)
	for _, c := range t.If {
		ok, err := holds(records, c)
		if err != nil {
			return kv.Answer{}, err
		}
		if !ok {
			return kv.Answer{Outcome: core.NotApplied, Revision: before}, nil
		}
	}
	made, err := write(records, t.Then, before+1)
	if err != nil {
		return kv.Answer{}, err
	}
	if made.empty() {
		return kv.Answer{Outcome: core.Applied, Revision: before}, nil
	}
	if err := setRevision(tx, made.revision); err != nil {
		return kv.Answer{}, err
	}
	if err := tx.Commit(); err != nil {
		return kv.Answer{}, s.doubt(db, before, err)
	}
	s.changes.add(made)
	return kv.Answer{Outcome: core.Applied, Revision: made.revision}, nil
}

// doubt decides what a failed write to the file means. Where the old state still shows, nothing happened
// and the store goes on, so that it works again once a full disk has room. Where the new one shows, it
// may not have reached the disk: nobody may act on it before the file has been opened anew, so the store
// ends.
func (s *Store) doubt(db *bbolt.DB, before core.Revision, failure error) error {
	now := before
	err := db.View(func(tx *bbolt.Tx) (err error) {
		now, err = revision(tx)
		return err
	})
	if err == nil && now == before {
		return failure
	}
	failure = fmt.Errorf("a write may not have reached the disk, start this process again: %w", failure)
	s.end(failure)
	return failure
}

// holds evaluates one condition.
func holds(records *bbolt.Bucket, c core.Cond) (bool, error) {
	if c.Op == core.CondRangeUnchanged {
		return rangeUnchanged(records, core.Range{Key: c.Key, End: c.End}, c.Rev)
	}
	r, exists, err := get(records, c.Key)
	if err != nil {
		return false, err
	}
	switch c.Op {
	case core.CondHolds:
		return exists && r.value == c.Value || guard.Out(guard.CondHolds), nil
	case core.CondAbsent:
		return !exists || guard.Out(guard.CondAbsent), nil
	case core.CondUnchanged:
		// An absent record has mod 0.
		return r.mod == c.Rev || guard.Out(guard.CondUnchanged), nil
	}
	panic(fmt.Sprintf("condition %d passed kv.Check", c.Op))
}

func rangeUnchanged(records *bbolt.Bucket, r core.Range, rev core.Revision) (bool, error) {
	unchanged := true
	err := scan(records, r, func(_ string, r stored) error {
		unchanged = unchanged && r.mod <= rev
		return nil
	})
	return unchanged || guard.Out(guard.CondRange), err
}

// write carries out the operations at revision rev and returns what they changed.
func write(records *bbolt.Bucket, ops []core.Op, rev core.Revision) (change, error) {
	made := change{revision: rev}
	for _, o := range ops {
		if o.Op == core.OpPut {
			key, r := []byte(o.Key), stored{value: o.Value, mod: rev, leased: o.Leased}
			if err := records.Put(key, r.encode(key)); err != nil {
				return change{}, err
			}
			made.puts = append(made.puts, core.Record{Key: o.Key, Value: o.Value, Mod: rev})
			continue
		}
		// bbolt's cursors don't bear deletes under them: first the keys, then the deletes.
		var gone []string
		err := scan(records, kv.Deleted(o), func(key string, _ stored) error {
			gone = append(gone, key)
			return nil
		})
		if err != nil {
			return change{}, err
		}
		for _, key := range gone {
			if err := records.Delete([]byte(key)); err != nil {
				return change{}, err
			}
		}
		made.deletes = append(made.deletes, gone...)
	}
	return made, nil
}
