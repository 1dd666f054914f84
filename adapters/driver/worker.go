package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/core"
)

// Worker runs core's worker machine with a gate and an engine.
type Worker struct {
	world World
	loop  *loop
	m     *core.Worker
	asks  *asks
	gate  *gate.Gate
	eng   *engine.Engine

	mu       sync.Mutex
	engines  map[core.ExecutionID]*running
	targets  map[core.ExecutionID]core.Target
	admitted map[intent][]core.RequestID // let through, without a result yet
}

var _ gate.Authority = (*Worker)(nil)

// errClosed answers requests that come while a process ends.
var errClosed = errors.New("this process is stopping")

// NewWorker makes a worker; [Worker.Run] starts it.
func NewWorker(cfg core.WorkerConfig, w World, log *slog.Logger) *Worker {
	m := core.NewWorker(cfg)
	return &Worker{
		world: w, m: m, loop: newLoop(m, log), asks: newAsks(),
		engines: map[core.ExecutionID]*running{}, targets: map[core.ExecutionID]core.Target{},
		admitted: map[intent][]core.RequestID{},
	}
}

// Run starts the worker behind its gate. Close ends it.
func (w *Worker) Run(g *gate.Gate, e *engine.Engine) {
	w.gate, w.eng = g, e
	w.loop.start(w.do)
	w.loop.async(func(ctx context.Context) { w.world.follow(ctx, w.loop) })
}

// do carries out one effect.
func (w *Worker) do(e core.Effect) {
	if w.world.carryOut(w.loop, e) {
		return
	}
	switch e := e.(type) {
	case core.StartEngine:
		w.startEngine(e)
	case core.LetGo:
		w.letGo(e.Execution)
	case core.StopEngine:
		w.stopEngine(e.Execution)
	case core.AnswerCommit:
		w.asks.answer(e.Request, e)
	case core.AnswerStart:
		w.asks.answer(e.Request, e)
	case core.AnswerStatus:
		w.asks.answer(e.Request, e)
	default:
		panic(fmt.Sprintf("a worker's driver knows no effect %T", e))
	}
}

// Start asks the worker to run an execution that was reserved for it; a reason refuses it.
func (w *Worker) Start(ctx context.Context, e core.Execution) (core.Reason, error) {
	a, err := ask[core.AnswerStart](ctx, w.loop, w.asks, func(r core.RequestID) core.Event {
		return core.StartRequested{Request: r, Execution: e}
	})
	return a.Refused, err
}

// Cancel asks the worker to end an execution.
func (w *Worker) Cancel(ctx context.Context, t core.Target, e core.ExecutionID, why core.Failure) (core.Status, error) {
	a, err := ask[core.AnswerStatus](ctx, w.loop, w.asks, func(r core.RequestID) core.Event {
		return core.CancelRequested{Request: r, Target: t, Execution: e, Why: why}
	})
	return a.Status, err
}

// Status asks the worker what it knows of an execution.
func (w *Worker) Status(ctx context.Context, t core.Target, e core.ExecutionID) (core.Status, error) {
	a, err := ask[core.AnswerStatus](ctx, w.loop, w.asks, func(r core.RequestID) core.Event {
		return core.StatusRequested{Request: r, Target: t, Execution: e}
	})
	return a.Status, err
}

// StopTaking takes no new executions from now on; what runs goes on.
func (w *Worker) StopTaking() { w.loop.tell(core.DrainRequested{}) }

// Drain takes no new executions from now on and waits until the last one is over, or ctx ends.
func (w *Worker) Drain(ctx context.Context) error {
	w.StopTaking()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		busy := 0
		if !w.loop.inside(func() { busy = w.m.Busy() }) || busy == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %d executions: %w", busy, ctx.Err())
		case <-every.C:
		}
	}
}

// Load is what the worker has to do and has room for: it is drained when it accepts nothing and has nothing
// active. ok is false once the worker is stopping.
func (w *Worker) Load() (l core.Load, ok bool) {
	ok = w.loop.inside(func() { l = w.m.Load() })
	return l, ok
}

// Twin is the process that is registered under this worker's name in its place, see [core.Worker.Twin].
func (w *Worker) Twin() (r core.WorkerRecord, ok bool) {
	w.loop.inside(func() { r, ok = w.m.Twin() })
	return r, ok
}

// Flushed tells the worker that a table which it writes has a new SSTable.
func (w *Worker) Flushed(t core.Target) { w.loop.tell(core.Flushed{Target: t}) }

// CancelAll tells every execution to end.
func (w *Worker) CancelAll(why core.Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e, t := range w.targets {
		w.loop.tell(core.CancelRequested{Target: t, Execution: e, Why: why})
	}
}

// Close stops the machine. Engines are killed; what they were about is recovered by whoever comes next.
func (w *Worker) Close() {
	w.loop.close()
	w.asks.close()
}
