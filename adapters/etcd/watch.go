package etcd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// Watch is [kv.KV.Watch]. It survives etcd: while that is away nothing comes, and afterwards what changed
// meanwhile, or a snapshot if etcd has compacted that. A reader that is slow is sent, when it reads again,
// all that has changed since as one batch. A watch of everything leaves out the past, see [core.Past].
func (s *Store) Watch(ctx context.Context, r core.Range, from core.Revision) <-chan kv.Batch {
	out := make(chan kv.Batch)
	if kv.CheckRange(r) != nil || s.alive.Err() != nil {
		close(out)
		return out
	}
	ctx, cancel := s.bounded(ctx)
	w := &watch{store: s, of: r, out: out, seen: from}
	s.work.Go(func() {
		defer close(out)
		defer cancel()
		w.follow(ctx)
	})
	return out
}

// watch is one watch, over as many streams of etcd as it takes.
type watch struct {
	store *Store
	of    core.Range
	out   chan<- kv.Batch
	seen  core.Revision // everything up to it was delivered, or is in next
	next  pending
}

// follow goes on until ctx ends.
func (w *watch) follow(ctx context.Context) {
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = 50*time.Millisecond, 5*time.Second
	for ctx.Err() == nil {
		began := time.Now()
		if err := w.stream(ctx); errors.Is(err, errCompacted) {
			if err = w.snapshot(ctx); err == nil {
				pace.Reset()
				continue
			}
		}
		if time.Since(began) > pace.MaxInterval {
			pace.Reset()
		}
		w.deliver(ctx, time.After(pace.NextBackOff()))
	}
}

// errCompacted says that etcd can't tell any more what changed since the last revision seen.
var errCompacted = errors.New("compacted")

// stream reads one stream of etcd until that ends.
func (w *watch) stream(ctx context.Context) error {
	client, err := w.store.connected()
	if err != nil {
		return err
	}
	if w.seen == 0 { // nobody can tell all changes since the beginning
		return errCompacted
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx)) // a member without a leader shows nothing new
	defer cancel()
	options := []clientv3.OpOption{clientv3.WithRev(int64(w.seen) + 1)}
	if w.of.End != "" {
		options = append(options, clientv3.WithRange(w.store.rangeEnd(w.of.End)))
	}
	answers := client.Watch(ctx, w.store.key(w.of.Key), options...)
	for {
		out, batch := w.ready()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case out <- batch:
			w.next = pending{}
		case a, ok := <-answers:
			switch {
			case !ok:
				return context.Cause(ctx)
			case a.CompactRevision != 0:
				return errCompacted
			case a.Err() != nil:
				return a.Err()
			}
			w.add(a.Events)
		}
	}
}

// snapshot replaces everything by what the range holds now.
func (w *watch) snapshot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	ranges := []core.Range{w.of}
	if w.of == core.Everything() {
		ranges = core.WithoutPast()
	}
	now, err := w.store.Read(ctx, ranges...)
	if err != nil {
		return err
	}
	w.seen = now.Revision
	w.next = pending{revision: now.Revision, reset: true, changed: map[string]*core.Record{}}
	for _, r := range now.Records {
		w.next.changed[r.Key] = &r
	}
	return nil
}

// readLimit bounds the read of a snapshot.
const readLimit = 10 * time.Second

// deliver hands over what is ready, and waits until the time comes.
func (w *watch) deliver(ctx context.Context, until <-chan time.Time) {
	for {
		out, batch := w.ready()
		select {
		case <-ctx.Done():
			return
		case <-until:
			return
		case out <- batch:
			w.next = pending{}
		}
	}
}

// add takes the events of an answer, which are whole revisions.
func (w *watch) add(events []*clientv3.Event) {
	for _, e := range events {
		if w.next.changed == nil {
			w.next.changed = map[string]*core.Record{}
		}
		r := w.store.record(e.Kv)
		w.seen, w.next.revision = r.Mod, r.Mod
		switch {
		case w.of == core.Everything() && core.Past(r.Key):
		case e.Type == mvccpb.Event_DELETE:
			w.next.changed[r.Key] = nil
		default:
			w.next.changed[r.Key] = &r
		}
	}
}

// pending is what has changed and was not delivered yet: each key once, however often it was written, so
// that a slow reader costs no more than the range holds.
type pending struct {
	revision core.Revision
	reset    bool
	changed  map[string]*core.Record // nil for a key that went away
}

// ready is the batch to deliver and where to, or a channel that takes nothing.
func (w *watch) ready() (chan<- kv.Batch, kv.Batch) {
	if w.next.revision == 0 {
		return nil, kv.Batch{}
	}
	batch := kv.Batch{Revision: w.next.revision, Reset: w.next.reset}
	for _, key := range slices.Sorted(maps.Keys(w.next.changed)) {
		switch r := w.next.changed[key]; {
		case r != nil:
			batch.Puts = append(batch.Puts, *r)
		case !batch.Reset:
			batch.Deletes = append(batch.Deletes, key)
		}
	}
	return w.out, batch
}
