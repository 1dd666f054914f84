package driver

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

// counter is a machine that counts: every request is answered by one effect, and it wants a tick at `next`.
type counter struct {
	next  core.MonoTime
	ticks atomic.Int32
}

func (c *counter) Step(_ core.Moment, ev core.Event) []core.Effect {
	switch ev := ev.(type) {
	case core.Tick:
		c.next = 0
		c.ticks.Add(1)
	case core.StatusRequested:
		return []core.Effect{core.AnswerStatus{Request: ev.Request, Status: core.Status{Known: true}}}
	case core.DrainRequested:
		c.next = now().Mono.Add(10 * time.Millisecond)
	}
	return nil
}

func (c *counter) Next() (core.MonoTime, bool) { return c.next, c.next != 0 }

func newCounter(t *testing.T, a *asks, answering bool) (*loop, *counter) {
	t.Helper()
	c := &counter{}
	l := newLoop(c, slog.New(slog.DiscardHandler))
	l.start(func(e core.Effect) {
		if answering {
			a.answer(e.(core.AnswerStatus).Request, e)
		}
	})
	t.Cleanup(l.close)
	return l, c
}

func request(r core.RequestID) core.Event { return core.StatusRequested{Request: r} }

func TestARequestIsAnsweredByItsEffect(t *testing.T) {
	t.Parallel()
	a := newAsks()
	l, _ := newCounter(t, a, true)
	got, err := ask[core.AnswerStatus](t.Context(), l, a, request)
	if err != nil || !got.Status.Known {
		t.Fatalf("expected the answer of the machine, got %+v, %v", got, err)
	}
}

func TestARequestWithoutAnAnswerEndsWithItsContextAndLeavesNothing(t *testing.T) {
	t.Parallel()
	a := newAsks()
	l, _ := newCounter(t, a, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask[core.AnswerStatus](ctx, l, a, request); !errors.Is(err, context.Canceled) {
		t.Fatalf("expected the context's error, got %v", err)
	}
	if len(a.waiting) != 0 {
		t.Fatalf("expected nobody to wait, found %d", len(a.waiting))
	}
}

func TestRequestsOfAClosedProcessEndAtOnce(t *testing.T) {
	t.Parallel()
	a := newAsks()
	l, _ := newCounter(t, a, false)
	_, answer := a.open()
	a.close()
	if _, ok := <-answer; ok {
		t.Fatal("expected the waiting request to end without an answer")
	}
	if _, err := ask[core.AnswerStatus](t.Context(), l, a, request); !errors.Is(err, errClosed) {
		t.Fatalf("expected a later request to end, got %v", err)
	}
}

func TestAMachineIsTickedWhenItAsksForIt(t *testing.T) {
	t.Parallel()
	l, c := newCounter(t, newAsks(), true)
	l.tell(core.DrainRequested{})
	deadline := time.After(10 * time.Second)
	for c.ticks.Load() == 0 {
		select {
		case <-deadline:
			t.Fatal("expected a tick 10 ms later, saw none in 10 s")
		case <-time.After(time.Millisecond):
		}
	}
	var next core.MonoTime
	if !l.inside(func() { next = c.next }) || next != 0 {
		t.Fatalf("expected the machine to want no further tick, it wants %d", next)
	}
}

func TestClosingALoopWaitsForItsEffects(t *testing.T) {
	t.Parallel()
	c := &counter{}
	l := newLoop(c, slog.New(slog.DiscardHandler))
	var done atomic.Bool
	l.start(func(core.Effect) {
		l.async(func(ctx context.Context) {
			<-ctx.Done()
			done.Store(true)
		})
	})
	l.tell(core.StatusRequested{})
	if !l.inside(func() {}) {
		t.Fatal("expected the loop to run")
	}
	l.close()
	if !done.Load() {
		t.Fatal("expected close to wait for the effect under way")
	}
	if l.inside(func() {}) {
		t.Fatal("expected a closed loop to run nothing")
	}
}
