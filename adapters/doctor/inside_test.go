package doctor

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// careless is a KV that applies every transaction, and takes its time.
type careless struct {
	kv.KV
	forgets bool
	takes   time.Duration
}

func (c careless) Commit(ctx context.Context, t core.Txn) (kv.Answer, error) {
	if c.takes == 0 {
		t.If = nil
	}
	return c.KV.Commit(ctx, t)
}

func (c careless) Read(ctx context.Context, r ...core.Range) (kv.Snapshot, error) {
	time.Sleep(c.takes)
	s, err := c.KV.Read(ctx, r...)
	if c.forgets {
		s.Records = nil
	}
	return s, err
}

func TestAKVThatKeepsNoConditionsOrIsSlowIsFound(t *testing.T) {
	t.Parallel()
	store, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for _, c := range []struct {
		kv      careless
		verdict Verdict
		words   string
	}{
		{careless{KV: store}, Failed, "expected not applied"},
		{careless{KV: store, forgets: true, takes: time.Nanosecond}, Failed, "just written is not read"},
		{careless{KV: store, takes: slow + 10*time.Millisecond}, Warning, "a read takes"},
	} {
		if f := transacts(t.Context(), c.kv); f.Verdict != c.verdict || !strings.Contains(f.Said, c.words) {
			t.Errorf("got %+v, expected %s with %q", f, c.verdict, c.words)
		}
	}
}
