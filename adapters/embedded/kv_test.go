package embedded_test

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// Attack kv-blip: the KV is away when a commit wants to be admitted.
func TestAKVThatIsAwayForAMomentCostsAMergeNothing(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]bool{"and answers errors": false, "and answers nothing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			r.open()
			r.lancedb(3)
			before := r.saveView(events)
			back := r.awayAtAdmission(3*time.Second, hang)
			if h := r.merged(events); h.Execution.Number != 1 {
				t.Fatalf("expected the one execution to merge, got %+v", h)
			}
			select {
			case <-back:
			default:
				t.Fatal("expected the merge to wait until the KV was back")
			}
			r.wantBase(events, before)
			r.wantUncharged(events)
			r.chain.check()
		})
	}
}

// awayAtAdmission takes the KV away for so long from the first Admit on. back is closed when it is back.
func (r *rig) awayAtAdmission(d time.Duration, hang bool) (back chan struct{}) {
	back = make(chan struct{})
	var gone atomic.Bool
	away := func(ctx context.Context) bool {
		select {
		case <-back:
			return false
		default:
		}
		if gone.Load() && hang {
			select {
			case <-ctx.Done():
			case <-back:
			}
		}
		return gone.Load()
	}
	r.kv.breakCommits(func(ctx context.Context, txn core.Txn, send apply) (kv.Answer, error) {
		if txn.Name == "admit" && gone.CompareAndSwap(false, true) {
			time.AfterFunc(d, func() { close(back) })
		}
		if away(ctx) {
			return kv.Answer{Outcome: core.Unknown}, errAway
		}
		return send()
	})
	r.kv.breakReads(func() error {
		if away(r.Context()) {
			return errAway
		}
		return nil
	})
	return back
}

// Attack admit-unknown: the admission is applied, and its answer is lost.
func TestAnAdmissionWhoseAnswerIsLostIsPutOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.lancedb(2)
	before := r.saveView(events)
	var lost atomic.Int32
	r.kv.breakCommits(func(_ context.Context, txn core.Txn, send apply) (kv.Answer, error) {
		a, err := send()
		if txn.Name == "admit" {
			lost.Add(1)
			return kv.Answer{Outcome: core.Unknown}, errAway
		}
		return a, err
	})
	r.merged(events)
	if n := lost.Load(); n != 1 {
		t.Fatalf("expected one admission to be asked, and found in the records then; it was asked %d times", n)
	}
	r.wantBase(events, before)
	r.wantUncharged(events)
	r.chain.check()
}

// Attack release-unknown, and the same for every other transaction: whatever answer is lost, once each.
func TestEveryTransactionMayLoseItsAnswerOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.lancedb(2)
	before := r.saveView(events)
	seen := map[string]bool{}
	r.kv.breakCommits(func(_ context.Context, txn core.Txn, send apply) (kv.Answer, error) {
		a, err := send()
		r.kv.mu.Lock()
		defer r.kv.mu.Unlock()
		if !seen[txn.Name] {
			seen[txn.Name] = true
			return kv.Answer{Outcome: core.Unknown}, errAway
		}
		return a, err
	})
	r.merged(events)
	for _, name := range []string{"reserve", "start", "admit", "finish", "release"} {
		if !seen[name] {
			t.Errorf("expected a %s among the transactions %v", name, seen)
		}
	}
	r.wantBase(events, before)
	r.wantUncharged(events)
	r.chain.check()
}

// Attack long-hold: the sender of a held commit has gone by the time its admission is answered.
func TestAHeldCommitOfADeadEngineIsNotForwarded(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.lancedb(2)
	before := r.saveView(events)
	admitting, answer := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	r.kv.breakCommits(func(_ context.Context, txn core.Txn, send apply) (kv.Answer, error) {
		a, err := send()
		if txn.Name == "admit" && once.CompareAndSwap(false, true) {
			close(admitting)
			<-answer
		}
		return a, err
	})
	after := r.request(events)
	<-admitting
	r.must(syscall.Kill(r.node.Worker.EnginePID(events), syscall.SIGKILL))
	// The worker must know of it before the answer comes; it says so right after it has forgotten the engine.
	for end := time.Now().Add(patience); r.node.Worker.EnginePID(events) != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the worker does not notice that its engine is gone")
		}
	}
	time.AfterFunc(100*time.Millisecond, func() { close(answer) })
	h := r.await(events, after)
	if h.Merged || h.Failure.Code != core.CodeEngineKilled {
		t.Fatalf("expected the first execution to fail with its engine, got %+v", h)
	}
	if h.Base != h.Execution.BaseVersion {
		t.Fatalf("expected nothing to be put for a dead engine, the base is v%d", h.Base)
	}
	if second := r.await(events, h.Execution.Number); !second.Merged {
		t.Fatalf("expected the second execution to merge, got %+v", second)
	}
	r.wantBase(events, before)
	r.chain.check()
}
