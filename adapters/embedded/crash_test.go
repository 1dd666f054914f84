package embedded_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine/enginetest"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "chooses the moments at which processes are killed")

func TestAKilledEngineIsTriedAgainAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.lancedb(3)
	before := r.saveView(events)
	r.puts.next(1, events.Path()+"/data/")
	after := r.request(events)
	file := r.held() // in the middle of its merge
	r.must(syscall.Kill(r.node.Worker.EnginePID(events), syscall.SIGKILL))
	first := r.await(events, after)
	if first.Merged || first.Failure.Code != core.CodeEngineKilled {
		t.Fatalf("expected the first execution to fail with its engine, got %+v", first)
	}
	if b := r.budget(events); b.Attempts != 1 || b.Class != core.Transient || b.Delay != 2000 || b.Attention {
		t.Fatalf("expected one transient attempt and 2 s until the next, got %+v", b)
	}
	second := r.await(events, first.Execution.Number)
	if waited := second.Execution.Reserved - first.Released; !second.Merged || waited < 1900 {
		t.Fatalf("expected the second execution to merge, 2 s after the first; it came after %d ms: %+v", waited, second)
	}
	r.must(file.Release())
	r.wantBase(events, before)
	r.wantUncharged(events)
	r.chain.check()
}

func TestAMergeWhoseWorkerDiesBeforeItsReleaseIsASuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.lancedb(3)
	before := r.saveView(events)
	worker := r.child(childSpec{Stuck: "finish"})
	if s := worker.next(); s.Stuck == "" {
		t.Fatalf("expected the worker to hang at the end of its merge, it said %+v", s)
	}
	worker.kill()
	r.open()
	h := r.await(events, 0)
	if !h.Merged || h.Execution.Number != 1 {
		t.Fatalf("expected the dead worker's execution to be released as a success, got %+v", h)
	}
	if len(r.history(events)) != 1 {
		t.Fatalf("expected no further execution, found %+v", r.history(events))
	}
	r.wantBase(events, before)
	r.wantUncharged(events)
	r.chain.check()
}

// Attack orphan-engine: its worker is killed, the engine lives on and goes on writing.
func TestAnOrphanedEngineHasNoValidCredential(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.lancedb(3)
	before := r.saveView(events)
	survivor := enginetest.NewSurvivor(t, python)
	c := r.spawn(childSpec{Python: survivor.Python, Hold: manifests})
	gate := c.next().Ready
	if s := c.next(); s.Held == "" {
		t.Fatalf("expected a commit to be held, the child said %+v", s)
	}
	orphan := survivor.First(t)
	r.must(syscall.Kill(orphan, syscall.SIGSTOP))
	c.kill()

	r.cfg.GateAddress = gate // where the orphan looks for it
	r.open()
	if h := r.await(events, 0); h.Merged || h.Failure.Code != core.CodeWorkerGone || h.Execution.Phase != core.Recovered {
		t.Fatalf("expected the orphan's execution to be recovered, got %+v", h)
	}
	if h := r.await(events, 1); !h.Merged {
		t.Fatalf("expected the second execution to merge, got %+v", h)
	}
	head := r.look(events).Base.Version
	r.must(syscall.Kill(orphan, syscall.SIGCONT))
	r.poll("the orphan to give up", func() bool { return enginetest.Gone(orphan) })
	if now := r.look(events).Base.Version; now != head {
		t.Fatalf("expected the orphan to commit nothing, the base went from v%d to v%d", head, now)
	}
	r.wantBase(events, before)
	r.chain.check()
}

func TestGenerationsThatComeDuringARecoveryAreMergedAfterIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.cfg.Limits.CancelGrace = 200 * time.Millisecond
	r.open()
	r.lancedb(2)
	recovered := make(chan struct{})
	r.kv.breakCommits(func(_ context.Context, txn core.Txn, send apply) (kv.Answer, error) {
		if txn.Name == "finish-recovery" {
			<-recovered
		}
		return send()
	})
	r.puts.next(1, manifests)
	after := r.request(events)
	late := r.held()
	_, err := r.node.Worker.Cancel(t.Context(), events, r.records(events).Execution.Value.ID, core.Failure{Code: core.CodeCancelled, Detail: "the test wants a recovery"})
	r.must(err)
	r.until(events, "a recovery", func(tv *core.TargetView) bool { return tv.Execution.Value.Phase == core.Recovering })
	r.generations(3)
	before := r.saveView(events)
	close(recovered)
	if h := r.await(events, after); h.Merged || h.Execution.Phase != core.Recovered {
		t.Fatalf("expected the first execution to be recovered, got %+v", h)
	}
	r.settled(events)
	if err := late.Release(); err == nil {
		t.Fatal("expected the late put to meet an occupied version")
	}
	r.wantBase(events, before)
	r.wantUncharged(events)
	r.chain.check()
}

// settled waits until nothing of the table is pending and nobody owns it.
func (r *rig) settled(t core.Target) {
	r.Helper()
	r.poll("everything to be merged", func() bool {
		return r.pending(t) == 0 && !r.records(t).Owner.Present()
	})
}

func TestACleanStopLosesNothing(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]time.Duration{"that waits for its merge": 30 * time.Second, "that does not wait": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			r.open()
			r.lancedb(3)
			before := r.saveView(events)
			after := r.request(events)
			r.until(events, "a running merge", func(tv *core.TargetView) bool { return tv.Execution.Value.Phase == core.Running })
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			r.must(r.node.Drain(ctx))
			if tv := r.records(events); tv.Owner.Present() {
				t.Fatalf("expected nobody to own the table after the drain, found %+v", tv.Execution.Value)
			}
			stopped := r.await(events, after)
			if stopped.Merged != (patience > 0) {
				t.Fatalf("expected the merge to be over when a stop waits for it, and only then; got %+v", stopped)
			}
			r.close()
			r.open()
			r.settled(events)
			r.wantBase(events, before)
			r.wantUncharged(events)
			r.chain.check()
		})
	}
}

// The process is killed ten times while generations are written and merged. Every other time it is killed
// shortly after a merge, so that its budget lets it go on soon.
func TestAProcessThatIsKilledAtRandomMomentsGoesOn(t *testing.T) {
	t.Parallel()
	t.Logf("run it again with -seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	r := newRig(t, events)
	r.lancedb(1)
	stop, written := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				written <- nil
				return
			case <-time.After(150 * time.Millisecond): // some load, not all there can be
			}
			if _, err := clients.WriteGenerations(t.Context(), r.direct(events), 1, 20, r.record); err != nil {
				written <- err
				return
			}
		}
	}()
	for kill := range 10 {
		c := r.child(childSpec{Poll: 100 * time.Millisecond})
		limit := time.Second
		if kill%2 == 1 {
			marks := r.look(events).Base.Marks
			r.poll("a merge", func() bool { return !r.look(events).Base.Marks.Equal(marks) })
			limit = 300 * time.Millisecond
		}
		time.Sleep(time.Duration(random.Int64N(int64(limit)))) // the moment is what is tested
		c.kill()
	}
	close(stop)
	r.must(<-written)
	before := r.saveView(events)
	r.open()
	r.settled(events)
	r.wantBase(events, before)
	r.chain.check()
}
