package driver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/core"
)

// running is an engine that belongs to an execution, from the moment it is asked for.
type running struct {
	ctx     context.Context
	cancel  context.CancelFunc
	process *engine.Process // nil until it has its job
}

// engineGrace is how long an engine has to end by itself when it is stopped. It has nothing to clean up.
const engineGrace = time.Second

// startEngine grants the execution its credentials and starts its engine. Its end is always told.
func (w *Worker) startEngine(e core.StartEngine) {
	ctx, cancel := context.WithCancel(w.loop.ctx)
	run := &running{ctx: ctx, cancel: cancel}
	w.mu.Lock()
	w.engines[e.Execution.ID] = run
	w.targets[e.Execution.ID] = e.Execution.Target
	w.mu.Unlock()
	credential := w.gate.GrantExecution(e.Execution)
	w.loop.async(func(context.Context) {
		defer cancel()
		end := w.runEngine(run, e, credential)
		w.mu.Lock()
		delete(w.engines, e.Execution.ID)
		delete(w.targets, e.Execution.ID)
		w.mu.Unlock()
		w.loop.tell(core.EngineEnded{Target: e.Execution.Target, Execution: e.Execution.ID, Failure: end})
	})
}

// runEngine returns when the engine's process is gone.
func (w *Worker) runEngine(run *running, e core.StartEngine, c gate.Credential) core.Failure {
	p, err := w.eng.Start(run.ctx, jobOf(e, w.gate.StorageOptions(c)))
	if err != nil {
		var f core.Failure
		if errors.As(err, &f) {
			return f
		}
		return core.Failure{Code: core.CodeEngineUnknown, Detail: fmt.Sprintf("start the engine of %s: %v", e.Execution.Target, err)}
	}
	w.mu.Lock()
	run.process = p
	w.mu.Unlock()
	stop := context.AfterFunc(run.ctx, func() { p.Stop(engineGrace) })
	defer stop()
	for ev := range p.Events() {
		switch ev := ev.(type) {
		case engine.Progress:
			w.loop.tell(core.EngineReported{Target: e.Execution.Target, Execution: e.Execution.ID, Counters: core.Counters{
				Step: string(ev.Phase), Rows: ev.Rows, Batches: ev.Batches, Bytes: ev.Bytes,
			}})
		case engine.Plan:
			w.loop.tell(core.EnginePlanned{Target: e.Execution.Target, Execution: e.Execution.ID, Attempt: core.Attempt{
				Rebasable: ev.Rebasable, Read: ev.ReadVersion,
			}})
		}
	}
	if failed, ok := p.Wait().(engine.Failed); ok {
		return failed.Failure
	}
	return core.Failure{}
}

func jobOf(e core.StartEngine, options map[string]string) engine.Job {
	table := url.URL{Scheme: "s3", Host: gate.Bucket, Path: "/" + e.Execution.Path}
	j := engine.Job{URI: table.String(), StorageOptions: options, BaseVersion: e.Execution.BaseVersion}
	for _, in := range e.Inputs {
		s := engine.Shard{Shard: in.Shard, Mark: in.Mark}
		for _, st := range in.SSTables {
			s.Generations = append(s.Generations, engine.Generation{Generation: st.Generation, Path: st.Path, Bytes: st.Size})
		}
		j.Shards = append(j.Shards, s)
	}
	return j
}

// letGo lets an engine that has told its plan commit. One that has gone meanwhile needs no word.
func (w *Worker) letGo(e core.ExecutionID) {
	w.mu.Lock()
	run := w.engines[e]
	w.mu.Unlock()
	if run != nil && run.process != nil {
		_ = run.process.Go() // a failure is its end, which is told
	}
}

// stopEngine revokes the execution's credentials and ends its engine.
func (w *Worker) stopEngine(e core.ExecutionID) {
	w.gate.Revoke(e)
	w.mu.Lock()
	run := w.engines[e]
	w.mu.Unlock()
	if run != nil {
		run.cancel()
	}
}

// EnginePID is the process of the engine that works on a target; 0 if none does.
func (w *Worker) EnginePID(t core.Target) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e, run := range w.engines {
		if w.targets[e] == t && run.process != nil {
			return run.process.PID()
		}
	}
	return 0
}

// Running is the execution whose engine works on a target.
func (w *Worker) Running(t core.Target) (core.ExecutionID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.engines {
		if w.targets[e] == t {
			return e, true
		}
	}
	return "", false
}
