package sim_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/kvtest"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/sim"
)

// TestTheModelKVConforms holds the simulator's KV to the suite that the real ones pass. What the world adds
// to it, delays and losses, is not part of it.
func TestTheModelKVConforms(t *testing.T) {
	t.Parallel()
	kvtest.Run(t, kvtest.Harness{
		Open: func(*testing.T) kv.KV { return open(sim.NewKV()) },
		Reopen: func(_ *testing.T, closed kv.KV) kv.KV {
			k := closed.(*store).kv
			k.Expire(holder)
			return open(k)
		},
	})
}

const holder = "the one process"

// store is the model with what Go programs need beside it: a lock, contexts and channels.
type store struct {
	mu      sync.Mutex
	kv      *sim.KV
	changed chan struct{} // closed at the next change
	done    chan struct{}
	watches sync.WaitGroup
	closed  bool
}

func open(k *sim.KV) *store {
	return &store{kv: k, changed: make(chan struct{}), done: make(chan struct{})}
}

func (s *store) Commit(ctx context.Context, t core.Txn) (kv.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := kv.Check(t); err != nil {
		return kv.Answer{Outcome: core.NotApplied}, err
	}
	switch {
	case s.closed:
		return kv.Answer{Outcome: core.NotApplied}, kv.ErrClosed
	case ctx.Err() != nil:
		return kv.Answer{}, ctx.Err()
	}
	outcome := core.NotApplied
	if s.kv.Apply(t, holder) {
		outcome = core.Applied
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return kv.Answer{Outcome: outcome, Revision: s.kv.Revision()}, nil
}

func (s *store) Read(ctx context.Context, ranges ...core.Range) (kv.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range ranges {
		if err := kv.CheckRange(r); err != nil {
			return kv.Snapshot{}, err
		}
	}
	switch {
	case s.closed:
		return kv.Snapshot{}, kv.ErrClosed
	case ctx.Err() != nil:
		return kv.Snapshot{}, ctx.Err()
	}
	return kv.Snapshot{Revision: s.kv.Revision(), Records: s.kv.Read(ranges...)}, nil
}

// next are the changes of a range after a revision, in one batch; more is closed when there are others.
func (s *store) next(r core.Range, from core.Revision) (batches []kv.Batch, more chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rev, c := range s.kv.Changes(from) {
		b := kv.Batch{Revision: rev}
		for _, p := range c.Puts {
			if r.Contains(p.Key) {
				b.Puts = append(b.Puts, p)
			}
		}
		b.Deletes = slices.DeleteFunc(slices.Clone(c.Deletes), func(key string) bool { return !r.Contains(key) })
		if len(b.Puts)+len(b.Deletes) > 0 {
			batches = append(batches, b)
		}
	}
	return batches, s.changed
}

func (s *store) Watch(ctx context.Context, r core.Range, from core.Revision) <-chan kv.Batch {
	out := make(chan kv.Batch)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(out)
		return out
	}
	s.watches.Go(func() {
		defer close(out)
		for {
			batches, more := s.next(r, from)
			for _, b := range batches {
				select {
				case out <- b:
					from = b.Revision
				case <-ctx.Done():
					return
				case <-s.done:
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			case <-s.done:
				return
			}
		}
	})
	return out
}

func (s *store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	s.watches.Wait()
	return nil
}
