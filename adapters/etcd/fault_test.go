package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// patience is how long a test waits for what must come; only a failing test uses it up.
const patience = 30 * time.Second

func open(t *testing.T, cfg etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// put writes a key, again and again while etcd doesn't answer.
func put(t *testing.T, s kv.KV, op core.Op) core.Revision {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		answer, err := s.Commit(ctx, core.Txn{Name: "put", Then: []core.Op{op}})
		cancel()
		if err == nil {
			return answer.Revision
		}
		if time.Now().After(end) {
			t.Fatalf("put %s: %v", op.Key, err)
		}
	}
}

// next is the next batch of a watch.
func next(t *testing.T, watch <-chan kv.Batch) kv.Batch {
	t.Helper()
	select {
	case b, ok := <-watch:
		if !ok {
			t.Fatal("the watch ended")
		}
		return b
	case <-time.After(patience):
		t.Fatal("nothing comes")
	}
	panic("unreachable")
}

// see waits until a watch shows the key with this value; "" for one that went away.
func see(t *testing.T, watch <-chan kv.Batch, key, value string) {
	t.Helper()
	for {
		b := next(t, watch)
		for _, r := range b.Puts {
			if r.Key == key && r.Value == value {
				return
			}
		}
		for _, gone := range b.Deletes {
			if gone == key && value == "" {
				return
			}
		}
	}
}

func TestAStoreOpensWhileEtcdIsDownAndGoesOnByItself(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	c.Stop(0)
	s := open(t, etcd.Config{Endpoints: c.Endpoints()})
	watch := s.Watch(t.Context(), core.Everything(), 0)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	answer, err := s.Commit(ctx, core.Txn{Name: "lost", Then: []core.Op{core.Put(core.OwnerKey("t"), "1")}})
	if err == nil || answer.Outcome != core.Unknown {
		t.Errorf("a commit without etcd: got %v, %v", answer.Outcome, err)
	}
	if _, err := s.Read(ctx, core.Everything()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read without etcd: %v", err)
	}
	c.Restart(t, 0)
	put(t, s, core.Put(core.OwnerKey("t"), "2"))
	see(t, watch, core.OwnerKey("t"), "2")
	// The same in the middle of its life.
	c.Stop(0)
	c.Restart(t, 0)
	put(t, s, core.Put(core.OwnerKey("t"), "3"))
	see(t, watch, core.OwnerKey("t"), "3")
}

func TestAClusterServesWithoutItsLeader(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3)
	s := open(t, etcd.Config{Endpoints: c.Endpoints()})
	watch := s.Watch(t.Context(), core.Everything(), 0)
	put(t, s, core.PutLeased(core.MasterKey("m1"), "1"))
	see(t, watch, core.MasterKey("m1"), "1")
	leader := c.Leader()
	c.Stop(leader)
	put(t, s, core.Put(core.OwnerKey("t"), "1"))
	see(t, watch, core.OwnerKey("t"), "1")
	c.Restart(t, leader)
	put(t, s, core.Put(core.OwnerKey("t"), "2"))
	see(t, watch, core.OwnerKey("t"), "2")
	// The lease has outlived it all.
	if got, err := s.Read(t.Context(), core.Range{Key: core.MasterKey("m1")}); err != nil || len(got.Records) != 1 {
		t.Errorf("the registration is gone: %v, %v", got, err)
	}
}

func TestAWatchOutlivesCompaction(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	s := open(t, etcd.Config{Endpoints: c.Endpoints()})
	first := put(t, s, core.Put(core.OwnerKey("t"), "1"))
	put(t, s, core.Put(core.OwnerKey("gone"), "1"))
	put(t, s, core.Delete(core.OwnerKey("gone")))
	last := put(t, s, core.Put(core.OwnerKey("t"), "2"))
	compact(t, c, last)
	b := next(t, s.Watch(t.Context(), core.Everything(), first))
	if !b.Reset || len(b.Puts) != 1 || b.Puts[0] != (core.Record{Key: core.OwnerKey("t"), Value: "2", Mod: last}) || b.Revision < last {
		t.Errorf("expected a snapshot at %d, got %+v", last, b)
	}
}

func TestALostLeaseTakesItsKeysAndIsMadeAnew(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	s := open(t, etcd.Config{Endpoints: c.Endpoints()})
	watch := s.Watch(t.Context(), core.Everything(), 0)
	put(t, s, core.PutLeased(core.WorkerKey("w1"), "1"))
	put(t, s, core.PutLeased(core.LoadKey("w1"), "1"))
	see(t, watch, core.LoadKey("w1"), "1")
	put(t, s, core.Put(core.OwnerKey("t"), "1"))
	revokeAll(t, c)
	see(t, watch, core.WorkerKey("w1"), "")
	put(t, s, core.PutLeased(core.WorkerKey("w1"), "2"))
	see(t, watch, core.WorkerKey("w1"), "2")
	got, err := s.Read(t.Context(), core.Everything())
	if err != nil || len(got.Records) != 2 {
		t.Errorf("expected the owner and the worker, got %v, %v", got.Records, err)
	}
}

func TestAProcessThatDiesLosesItsKeysByTime(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1)
	s := open(t, etcd.Config{Endpoints: c.Endpoints()})
	watch := s.Watch(t.Context(), core.Everything(), 0)
	dead := proxied(t, c, time.Second)
	put(t, dead.store, core.PutLeased(core.WorkerKey("w1"), "1"))
	see(t, watch, core.WorkerKey("w1"), "1")
	// Alive for longer than its lease: it is kept.
	quiet := time.After(2500 * time.Millisecond)
	for lasts := true; lasts; {
		select {
		case b := <-watch:
			t.Fatalf("the lease of a process that lives ended: %+v", b)
		case <-quiet:
			lasts = false
		}
	}
	dead.cut()
	see(t, watch, core.WorkerKey("w1"), "")
}

func TestAnOlderEtcdEndsTheStore(t *testing.T) {
	t.Parallel()
	c, other := etcdtest.Start(t, 1), etcdtest.Start(t, 1)
	p := proxied(t, c, 10*time.Second)
	for range 20 {
		put(t, p.store, core.Put(core.OwnerKey("t"), "1"))
	}
	watch := p.store.Watch(t.Context(), core.Everything(), 0)
	next(t, watch)
	p.to(other)
	var err error
	for end := time.Now().Add(patience); !errors.Is(err, etcd.ErrWentBack); {
		if time.Now().After(end) {
			t.Fatalf("it was taken for the same etcd: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = p.store.Read(ctx, core.Everything())
		cancel()
	}
	for range watch { // ends, or the test never does
	}
	answer, err := p.store.Commit(t.Context(), core.Txn{Name: "late", Then: []core.Op{core.Put(core.OwnerKey("t"), "2")}})
	if !errors.Is(err, etcd.ErrWentBack) || answer.Outcome == core.Applied {
		t.Errorf("it goes on: %v, %v", answer, err)
	}
}

func TestAFullEtcdIsAnUnknownOutcomeAndOpensNothing(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, func(cfg *embed.Config) { cfg.QuotaBackendBytes = 1 << 20 })
	s := open(t, etcd.Config{Endpoints: c.Endpoints()})
	put(t, s, core.Put(core.OwnerKey("t"), "1"))
	big := make([]byte, 1<<19)
	for i := range big {
		big[i] = 'x'
	}
	var err error
	for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
		var answer kv.Answer
		if answer, err = s.Commit(t.Context(), core.Txn{Name: "fill", Then: []core.Op{core.Put(core.OwnerKey("big"), string(big))}}); err != nil {
			if answer.Outcome != core.Unknown {
				t.Errorf("got %v with %v", answer.Outcome, err)
			}
		}
	}
	if err == nil {
		t.Fatal("one megabyte is never full")
	}
	if got, err := s.Read(t.Context(), core.Range{Key: core.OwnerKey("t")}); err != nil || len(got.Records) != 1 {
		t.Errorf("what was written is not read any more: %v, %v", got, err)
	}
}
