package embedded_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

const manifests = "db/events.lance/_versions/"

// Attack late-put: the put of an admitted commit is on its way while its execution is given up.
func TestALatePutMeetsAnOccupiedVersion(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]struct {
		storage, noProgress time.Duration
		code                core.Code
	}{
		"given up for no progress":         {20 * time.Second, 5 * time.Second, core.CodeNoProgress},
		"given up by the storage time-out": {100 * time.Millisecond, time.Hour, core.CodeStorage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			r.cfg.StorageTimeout, r.cfg.Limits.NoProgress = limits.storage, limits.noProgress
			r.cfg.Limits.CancelGrace = 300 * time.Millisecond
			r.open()
			r.lancedb(3)
			r.must(r.node.Engine.Warm(t.Context()))
			before := r.saveView(events)
			r.puts.next(-1, manifests)

			after := r.request(events)
			late := r.held()
			h := r.await(events, after)
			r.puts.next(0, "")
			if h.Merged || h.Failure.Code != limits.code || h.Execution.Phase != core.Recovered {
				t.Fatalf("expected execution 1 to be fenced for %s, got %+v", limits.code, h)
			}
			if second := r.await(events, h.Execution.Number); !second.Merged {
				t.Fatalf("expected the second execution to merge, got %+v", second)
			}
			r.wantBase(events, before)
			if err := late.Release(); !errors.Is(err, lake.ErrExists) {
				t.Fatalf("expected the late put of %s to meet an occupied version, got %v", late.Key, err)
			}
			r.wantBase(events, before)
			r.chain.check()
		})
	}
}

// Attack sdk-hides-attempt: the first attempt times out below the gate, a second one lands, and then the
// first arrives.
func TestASecondAttemptOfTheSameCommitLandsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.cfg.StorageTimeout = 500 * time.Millisecond
	r.open()
	r.lancedb(2)
	before := r.saveView(events)
	r.puts.next(1, manifests)

	after := r.request(events)
	first := r.held()
	h := r.await(events, after)
	if !h.Merged {
		t.Fatalf("expected the merge to succeed, got %+v", h)
	}
	if err := first.Release(); !errors.Is(err, lake.ErrExists) {
		t.Fatalf("expected the first attempt to come too late, got %v", err)
	}
	r.wantBase(events, before)
	r.wantUncharged(events)
	r.chain.check()
}

// liar answers the puts of base manifests in its own words; the rest is left alone.
type liar struct {
	lake.Lake
	lies  atomic.Int32 // that many are left
	lie   func(l *liar, put func() error) error
	blind atomic.Bool // nothing can be read back
}

// Open implements [lake.Lake].
func (l *liar) Open(ctx context.Context, key string) (io.ReadCloser, lake.Info, error) {
	if l.blind.Load() && strings.HasPrefix(key, manifests) {
		return nil, lake.Info{}, errors.New("500 internal server error")
	}
	return l.Lake.Open(ctx, key)
}

// PutIfAbsent implements [lake.Lake].
func (l *liar) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	put := func() error { return l.Lake.PutIfAbsent(context.WithoutCancel(ctx), key, body) }
	if !strings.HasPrefix(key, manifests) || l.lies.Add(-1) < 0 {
		return put()
	}
	return l.lie(l, put)
}

// Attacks landed-but-500 and early-conflict: storage says something else than what happens.
func TestACommitCountsOnceWhateverStorageSaysOfIt(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(l *liar, put func() error) error{
		"landed, and 500 is answered": func(_ *liar, put func() error) error {
			return errors.Join(put(), errors.New("500 internal server error"))
		},
		"conflict is answered, and it lands later": func(_ *liar, put func() error) error {
			time.AfterFunc(100*time.Millisecond, func() { _ = put() })
			return lake.ErrExists
		},
		"landed, 500 is answered, and nothing can be read back for a while": func(l *liar, put func() error) error {
			l.blind.Store(true)
			time.AfterFunc(300*time.Millisecond, func() { l.blind.Store(false) })
			return errors.Join(put(), errors.New("500 internal server error"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			storage := &liar{lie: lie}
			storage.lies.Store(1)
			r.cfg.Below = func(l lake.Lake) lake.Lake { storage.Lake = l; return storage }
			r.open()
			r.lancedb(2)
			before := r.saveView(events)
			if h := r.merged(events); h.Execution.Number != 1 {
				t.Fatalf("expected the first execution to merge, got %+v", h)
			}
			r.wantBase(events, before)
			r.wantUncharged(events)
			if len(r.chain.admitted()) != 1 {
				t.Fatalf("expected one version to be admitted, found %v", r.chain.admitted())
			}
			r.chain.check()
		})
	}
}

// Attack foreign-merge: somebody's own merge script on a table that Sluice owns.
func TestAForeignMergeOfAnOwnedTableIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.lancedb(3)
	before := r.look(events)
	if v, err := clients.MergeScript(t.Context(), r.table(events), "", 0); err == nil {
		t.Fatalf("expected the merge script to be refused, it committed v%d", v)
	}
	if now := r.look(events); !now.Base.Marks.Equal(before.Base.Marks) {
		t.Fatalf("expected no mark to move, they are %v", now.Base.Marks)
	}

	// Other writes of the user's programs are fine, through the gate and past it.
	more := stock.Rows{From: 10_000, To: 10_010}
	r.chain.client(clients.Append(t.Context(), r.table(events), more))
	more = stock.Rows{From: 10_010, To: 10_020}
	r.chain.client(clients.Append(t.Context(), r.direct(events), more))
	view := r.saveView(events)
	r.merged(events)
	r.wantView(events, view)
	r.chain.check()
}
