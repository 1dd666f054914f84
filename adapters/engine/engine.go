package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-data/sluice/adapters/scratch"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// Engine starts engine processes and owns them: after [Engine.Close] none is left.
//
// It keeps one process standing by that has imported pylance already. A job takes it; the next one is made
// ready when that job's process is gone, so that warming up never competes with a merge.
type Engine struct {
	cfg    Config
	root   *scratch.Dir
	parent *parent

	mu      sync.Mutex
	closed  bool
	standby *Process
	live    map[*Process]struct{}
	watched sync.WaitGroup
}

// New makes an engine and starts the first standby. It does not wait for it; [Engine.Warm] does.
func New(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	root, err := extract(cfg.TempDir)
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, root: root, parent: newParent(), live: map[*Process]struct{}{}}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warm()
	return e, nil
}

// errClosed is returned by what needs an engine that is not closed.
var errClosed = errors.New("engine is closed")

// warm starts a standby if there is none. The caller holds the lock.
func (e *Engine) warm() {
	if e.closed || e.standby != nil {
		return
	}
	p, err := e.spawn()
	if err != nil {
		e.cfg.Log.Warn("engine standby failed to start", "error", err)
		return
	}
	e.standby = p
}

// spawn starts a process and watches it. The caller holds the lock.
func (e *Engine) spawn() (*Process, error) {
	p, err := spawn(e.cfg, e.root.Path(), e.parent)
	if err != nil {
		return nil, err
	}
	e.live[p] = struct{}{}
	e.watched.Go(func() {
		<-p.gone
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.live, p)
		if e.standby == p {
			// It died in its sleep. The next job starts one: started here it might die for ever.
			e.standby = nil
			return
		}
		e.warm()
	})
	return p, nil
}

// take returns the standby, or a new process.
func (e *Engine) take() (*Process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if p := e.standby; p != nil {
		e.standby = nil
		return p, nil
	}
	return e.spawn()
}

// Warm returns when a process stands by and is ready for a job, or with the reason why none can.
func (e *Engine) Warm(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errClosed
	}
	e.warm()
	p := e.standby
	e.mu.Unlock()
	if p == nil {
		return core.Failure{Code: core.CodeEngineMissing, Detail: "no engine process could be started with " + e.cfg.Python}
	}
	return e.awaitReady(ctx, p)
}

func (e *Engine) awaitReady(ctx context.Context, p *Process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.cfg.ReadyTime, fmt.Errorf("engine not ready after %s", e.cfg.ReadyTime))
	defer cancel()
	select {
	case <-p.ready:
		return nil
	case <-p.gone:
		if f, ok := p.last.(Failed); ok {
			return f.Failure
		}
		return core.Failure{Code: core.CodeEngineUnknown, Detail: "the engine ended before it got a job"}
	case <-ctx.Done():
		return fmt.Errorf("wait for engine process %d: %w", p.PID(), context.Cause(ctx))
	}
}

// Start gives the job to a process of its own. The context bounds the start only: a process that has its
// job ends by itself or by [Process.Stop].
//
// The caller reads [Process.Events], answers [Plan] with [Process.Go], and needs to do nothing when the last
// event has come. An error is a [core.Failure] where the engine itself says what is wrong.
func (e *Engine) Start(ctx context.Context, j Job) (*Process, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	p, err := e.take()
	if err != nil {
		return nil, err
	}
	if err := e.awaitReady(ctx, p); err != nil {
		p.Stop(0)
		return nil, err
	}
	if j.StorageOptions == nil {
		j.StorageOptions = map[string]string{}
	}
	if err := p.send(job{Job: j, ReadThreads: e.cfg.ReadThreads, Without: without()}); err != nil {
		p.Stop(0)
		return nil, err
	}
	e.cfg.Log.Debug("engine has a job", "pid", p.PID(), "shards", len(j.Shards))
	return p, nil
}

// without are the rules of the merge that this build leaves out.
func without() []guard.Name {
	out := []guard.Name{}
	for _, n := range []guard.Name{guard.TombstonesOneCommit, guard.NewestWins, guard.TwoShardsOneKey} {
		if guard.Out(n) {
			out = append(out, n)
		}
	}
	return out
}

// closeGrace is how long Close lets a process end by itself.
const closeGrace = 2 * time.Second

// Close ends all processes and removes the extracted program. It is safe to call twice.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	var stops sync.WaitGroup
	for p := range e.live {
		stops.Go(func() { p.Stop(closeGrace) })
	}
	e.mu.Unlock()
	stops.Wait()
	e.watched.Wait()
	e.parent.close()
	return e.root.Close()
}
