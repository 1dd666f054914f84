package driver

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Workers reaches the workers of a fleet by the address that they registered.
type Workers interface {
	Start(ctx context.Context, address string, e core.Execution) (core.Reason, error)
	Cancel(ctx context.Context, address string, t core.Target, e core.ExecutionID, why core.Failure) (core.Status, error)
	Status(ctx context.Context, address string, t core.Target, e core.ExecutionID) (core.Status, error)
}

// Master runs core's master machine.
type Master struct {
	world   World
	loop    *loop
	m       *core.Master
	asks    *asks
	workers Workers
	limits  core.Limits
}

// NewMaster makes a master; [Master.Run] starts it.
func NewMaster(cfg core.MasterConfig, w World, workers Workers, log *slog.Logger) *Master {
	m := core.NewMaster(cfg)
	return &Master{world: w, m: m, loop: newLoop(m, log), asks: newAsks(), workers: workers, limits: cfg.Limits}
}

// Run starts the master; Close ends it.
func (m *Master) Run() {
	m.loop.start(m.do)
	m.loop.async(func(ctx context.Context) { m.world.follow(ctx, m.loop) })
}

func (m *Master) do(e core.Effect) {
	if m.world.carryOut(m.loop, e) {
		return
	}
	switch e := e.(type) {
	case core.SendStart:
		m.rpc(e.ID, func(ctx context.Context) (r core.Replied, err error) {
			r.Refused, err = m.workers.Start(ctx, e.Address, e.Execution)
			r.Status.Known = true
			return r, err
		})
	case core.SendCancel:
		m.rpc(e.ID, func(ctx context.Context) (r core.Replied, err error) {
			r.Status, err = m.workers.Cancel(ctx, e.Address, e.Target, e.Execution, e.Why)
			return r, err
		})
	case core.SendProbe:
		m.rpc(e.ID, func(ctx context.Context) (r core.Replied, err error) {
			r.Status, err = m.workers.Status(ctx, e.Address, e.Target, e.Execution)
			return r, err
		})
	case core.AnswerMerge:
		m.asks.answer(e.Request, e)
	case core.AnswerOperator:
		m.asks.answer(e.Request, e)
	default:
		panic(fmt.Sprintf("a master's driver knows no effect %T", e))
	}
}

func (m *Master) rpc(id core.EffectID, call func(context.Context) (core.Replied, error)) {
	m.loop.async(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, rpcLimit)
		defer cancel()
		r, err := call(ctx)
		r.Effect, r.OK = id, err == nil
		m.loop.tell(r)
	})
}

// Merge asks for a target to be merged; now says that a person asks, see [core.MergeRequested].
func (m *Master) Merge(ctx context.Context, t core.Target, now bool) (core.AnswerMerge, error) {
	return ask[core.AnswerMerge](ctx, m.loop, m.asks, func(r core.RequestID) core.Event {
		return core.MergeRequested{Request: r, Target: t, Now: now}
	})
}

// Adopt asks for a target to be adopted anew, whatever stands at its path; gone says that nothing does, for good.
func (m *Master) Adopt(ctx context.Context, t core.Target, gone bool) (core.AnswerMerge, error) {
	return ask[core.AnswerMerge](ctx, m.loop, m.asks, func(r core.RequestID) core.Event {
		return core.AdoptRequested{Request: r, Target: t, Gone: gone}
	})
}

// Why is why a target does not run right now, as this master sees it.
func (m *Master) Why(t core.Target) (r core.Reason) {
	r = core.ReasonKVDown
	m.loop.inside(func() { r = m.m.Why(t) })
	return r
}

// WhyNot is why a target does not run right now, with when that began and when it ends at the latest; a zero
// time is one that nobody knows.
func (m *Master) WhyNot(t core.Target) (r core.Reason, since, until time.Time) {
	r = core.ReasonKVDown
	m.loop.inside(func() {
		w := m.m.WhyNot(t)
		r, since, until = w.Reason, wallTime(w.Since), wallTime(w.Until)
	})
	return r, since, until
}

// Health is the verdict on the running execution of a target; [core.HealthUnknown] if this master sees none.
func (m *Master) Health(t core.Target) core.Health {
	verdict := core.HealthUnknown
	m.loop.inside(func() {
		if p, ok := m.m.Pulse(t); ok {
			verdict = p.Health(now().Mono, m.limits)
		}
	})
	return verdict
}

// wallTime is a reading of this process's monotonic clock on its wall clock.
func wallTime(t core.MonoTime) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return born.Add(time.Duration(t))
}

// Close stops the machine.
func (m *Master) Close() {
	m.loop.close()
	m.asks.close()
}

// Local reaches the one worker of this process.
type Local struct{ Worker *Worker }

var _ Workers = Local{}

// Start implements [Workers].
func (l Local) Start(ctx context.Context, _ string, e core.Execution) (core.Reason, error) {
	return l.Worker.Start(ctx, e)
}

// Cancel implements [Workers].
func (l Local) Cancel(ctx context.Context, _ string, t core.Target, e core.ExecutionID, why core.Failure) (core.Status, error) {
	return l.Worker.Cancel(ctx, t, e, why)
}

// Status implements [Workers].
func (l Local) Status(ctx context.Context, _ string, t core.Target, e core.ExecutionID) (core.Status, error) {
	return l.Worker.Status(ctx, t, e)
}
