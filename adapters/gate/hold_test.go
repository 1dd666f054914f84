package gate_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

func shardKey(v core.Version) string { return lance.ShardKey(table, "s1", v) }

func TestOnePutOfAKeyAtATimeGoesToStorage(t *testing.T) {
	t.Parallel()
	var inside, most atomic.Int32
	entered := make(chan struct{}, 64)
	w := newWorld(t, setup{wrap: func(l lake.Lake) lake.Lake {
		return &faulty{Lake: l, put: func(ctx context.Context, key string, body io.Reader) error {
			n := inside.Add(1)
			defer inside.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			entered <- struct{}{}
			if n == 1 { // long enough for the others to arrive if they may
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
			return l.PutIfAbsent(ctx, key, body)
		}}
	}})
	answers := make(chan int, 8)
	for i := range cap(answers) {
		go func() {
			answers <- w.wire.putNew(t, shardKey(1), []byte(strings.Repeat("x", i+1)))
		}()
	}
	count := map[int]int{}
	for range cap(answers) {
		count[<-answers]++
	}
	if most.Load() != 1 {
		t.Errorf("%d puts of one key were with storage at once, want 1", most.Load())
	}
	if count[200] != 1 || count[412] != 7 {
		t.Errorf("answers %v, want one 200 and seven 412", count)
	}
}

// Storage does not answer: the sender gets 503 and the next put goes to storage.
func TestATurnEndsWithItsTimeOut(t *testing.T) {
	t.Parallel()
	var hold *lake.Hold
	var once sync.Once
	w := newWorld(t, setup{timeout: 200 * time.Millisecond, wrap: func(l lake.Lake) lake.Lake {
		hold = lake.NewHold(l, func(string) (held bool) {
			once.Do(func() { held = true })
			return held
		})
		return hold
	}})
	if got := w.wire.putNew(t, shardKey(1), []byte("first")); got != 503 {
		t.Errorf("the put that storage holds: %d, want 503", got)
	}
	if got := w.wire.putNew(t, shardKey(1), []byte("second")); got != 200 {
		t.Errorf("the next one: %d, want 200", got)
	}
	late, err := hold.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := late.Release(); err == nil {
		t.Error("the first put landed over the second")
	}
}

// heldCommit starts an execution's commit, whose admission the test decides.
func heldCommit(t *testing.T, s setup) (w *world, e core.Execution, cred gate.Credential, asked, decide chan struct{}) {
	t.Helper()
	w = newWorld(t, s)
	c := pylance(t)
	shard := w.adopted(t, c)
	e, cred = w.start(t, table, shard)
	asked, decide = make(chan struct{}, 8), make(chan struct{})
	w.authority.ask(table, func(ctx context.Context, _ core.CommitIntent, _ core.Verdict) core.Verdict {
		asked <- struct{}{}
		<-decide
		notice(ctx)
		return core.Verdict{}
	})
	return w, e, cred, asked, decide
}

// notice gives the gate the time to see that a request must not go on. A gate that doesn't look for it
// gets its admission all the same, after a second.
func notice(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

func TestAHeldPutIsDroppedWhenItsSenderHangsUp(t *testing.T) {
	t.Parallel()
	w, _, cred, asked, decide := heldCommit(t, setup{})
	key, body := w.candidate(t, 1)
	ctx, hangUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- newWire(w.Gate, cred).tryNew(ctx, key, body) }()
	<-asked
	hangUp()
	if err := <-done; err == nil {
		t.Fatal("the request was answered")
	}
	close(decide)
	if o := w.authority.await(t, 1); o[0] != core.NotApplied || w.exists(t, key) {
		t.Errorf("settled %v, there: %t; want not applied and not there", o, w.exists(t, key))
	}
}

func TestAHeldPutIsDroppedWhenItsCredentialIsRevoked(t *testing.T) {
	t.Parallel()
	w, e, cred, asked, decide := heldCommit(t, setup{})
	key, body := w.candidate(t, 1)
	engine := newWire(w.Gate, cred)
	answer := make(chan int, 1)
	go func() { answer <- engine.putNew(t, key, body) }()
	<-asked
	w.Revoke(e.ID)
	close(decide)
	if got := <-answer; got != 403 || w.exists(t, key) {
		t.Errorf("the held put: %d, there: %t; want 403 and not there", got, w.exists(t, key))
	}
	if o := w.authority.await(t, 1); o[0] != core.NotApplied {
		t.Errorf("settled %v, want not applied", o)
	}
	if _, got := engine.get(t, key); got != 403 {
		t.Errorf("a new request with the revoked credential: %d, want 403", got)
	}
}

func TestAnExecutionIsHeldUpToItsLimitAndThenToldToTryAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{hold: 100 * time.Millisecond})
	c := pylance(t)
	shard := w.adopted(t, c)
	_, cred := w.start(t, table, shard)
	w.authority.ask(table, func(ctx context.Context, _ core.CommitIntent, _ core.Verdict) core.Verdict {
		<-ctx.Done()
		return core.Verdict{Status: 503, Rule: core.RuleKVUnavailable, Detail: "the KV is away"}
	})
	key, body := w.candidate(t, 1)
	if got := newWire(w.Gate, cred).putNew(t, key, body); got != 503 || w.exists(t, key) {
		t.Errorf("held past its limit: %d, there: %t; want 503 and not there", got, w.exists(t, key))
	}
	// Clients do not ask the KV.
	c.must(t, w.Gate, w.client, "append", table, args{"ids": ids(100, 101)})
}

func TestClosingTheGateDropsWhatIsHeld(t *testing.T) {
	t.Parallel()
	w, _, cred, asked, decide := heldCommit(t, setup{})
	close(decide)
	key, body := w.candidate(t, 1)
	done := make(chan error, 1)
	go func() { done <- newWire(w.Gate, cred).tryNew(t.Context(), key, body) }()
	<-asked
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil || w.exists(t, key) {
		t.Errorf("the held put: %v, there: %t; want an error and not there", err, w.exists(t, key))
	}
}
