package bolt

import (
	"context"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// Watch is [kv.KV.Watch]. The channel is closed also when the store is closed or must end, and at once
// when the range is not valid. What changed before this process opened the file is not known to it: a
// watch from there begins with a snapshot, and so does one from a revision that the file never reached,
// which shows its reader that the file is not the one it knew.
func (s *Store) Watch(ctx context.Context, r core.Range, from core.Revision) <-chan kv.Batch {
	out := make(chan kv.Batch)
	s.life.RLock()
	defer s.life.RUnlock()
	if s.db == nil || kv.CheckRange(r) != nil {
		close(out)
		return out
	}
	s.watchers.Add(1)
	go func() {
		defer s.watchers.Done()
		defer close(out)
		s.follow(ctx, r, from, out)
	}()
	return out
}

func (s *Store) follow(ctx context.Context, r core.Range, from core.Revision, out chan<- kv.Batch) {
	now, err := s.Read(ctx)
	if err != nil {
		return
	}
	seen := from
	if from > now.Revision {
		seen = -1
	}
	for {
		batch, head, known, grew := s.changes.since(seen, r)
		switch {
		case !known:
			snapshot, err := s.Read(ctx, r)
			if err != nil {
				return
			}
			batch = kv.Batch{Revision: snapshot.Revision, Reset: true, Puts: snapshot.Records}
			seen = snapshot.Revision
		case batch.Revision == 0:
			seen = head
			select {
			case <-grew:
			case <-ctx.Done():
				return
			case <-s.alive.Done():
				return
			}
			continue
		default:
			seen = head
		}
		select {
		case out <- batch:
		case <-ctx.Done():
			return
		case <-s.alive.Done():
			return
		}
	}
}
