package driver

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-data/sluice/core"
)

// machine is a state machine of core.
type machine interface {
	Step(core.Moment, core.Event) []core.Effect
	Next() (core.MonoTime, bool)
}

// loop owns one machine: a single goroutine steps it, so that it needs no lock. Events queue without a
// bound of their own; what sends them is bounded (requests by the servers, answers by the effects).
type loop struct {
	machine machine
	do      func(core.Effect)
	log     *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // effects under way

	mu     sync.Mutex
	queue  []func()
	wake   chan struct{}
	closed bool
	done   chan struct{}
}

func newLoop(m machine, log *slog.Logger) *loop {
	l := &loop{machine: m, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// start begins to step. do carries out an effect; it must not block, see [loop.async].
func (l *loop) start(do func(core.Effect)) {
	l.do = do
	go l.run()
}

// tell queues an event.
func (l *loop) tell(ev core.Event) {
	l.enqueue(func() { l.step(ev) })
}

// inside runs f between two steps, where the machine may be read, and waits for it. It reports false if the
// loop has ended.
func (l *loop) inside(f func()) bool {
	ran := make(chan struct{})
	if !l.enqueue(func() { f(); close(ran) }) {
		return false
	}
	select {
	case <-ran:
		return true
	case <-l.done:
		return false
	}
}

func (l *loop) enqueue(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.queue = append(l.queue, f)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

// async carries out an effect beside the loop; close waits for it.
func (l *loop) async(f func(ctx context.Context)) {
	l.work.Go(func() { f(l.ctx) })
}

func (l *loop) run() {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for {
			l.mu.Lock()
			if len(l.queue) == 0 {
				l.mu.Unlock()
				break
			}
			f := l.queue[0]
			l.queue = l.queue[1:]
			l.mu.Unlock()
			if l.ctx.Err() != nil {
				return
			}
			f()
		}
		var ring <-chan time.Time
		if next, ok := l.machine.Next(); ok {
			timer.Reset(time.Duration(next - now().Mono))
			ring = timer.C
		}
		select {
		case <-l.ctx.Done():
			return
		case <-l.wake:
		case <-ring:
			l.step(core.Tick{})
		}
	}
}

func (l *loop) step(ev core.Event) {
	for _, e := range l.machine.Step(now(), ev) {
		if n, ok := e.(core.Note); ok {
			l.note(n)
			continue
		}
		l.do(e)
	}
}

// note logs one decision on one line.
func (l *loop) note(n core.Note) {
	args := []any{"target", n.Target}
	if n.Execution != "" {
		args = append(args, "execution", n.Execution)
	}
	if n.Code != core.CodeOK {
		l.log.Warn(n.Text, append(args, "code", n.Code)...)
		return
	}
	l.log.Info(n.Text, args...)
}

// close stops stepping and ends what is under way.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	<-l.done
	l.work.Wait()
}

// born is the zero of this process's monotonic clock.
var born = time.Now()

// now reads the clocks and draws a name.
func now() core.Moment {
	t := time.Now()
	return core.Moment{
		Mono:  core.MonoTime(t.Sub(born)),
		Wall:  core.WallMillis(t.UnixMilli()),
		Fresh: rand.Text(),
	}
}
