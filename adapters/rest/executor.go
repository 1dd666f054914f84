package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sluice-data/sluice/core"
)

// internal is where masters talk to workers.
const internal = "/api/v1/internal/merge-executor"

// Executor is what the API of a worker asks of it. Implemented by driver.Worker.
type Executor interface {
	Worker
	Start(ctx context.Context, e core.Execution) (core.Reason, error)
	Cancel(ctx context.Context, t core.Target, e core.ExecutionID, why core.Failure) (core.Status, error)
	Load() (l core.Load, ok bool)
	StopTaking()
}

// ExecutorConfig says what a worker's API shows.
type ExecutorConfig struct {
	Executor Executor
	// Ready says why the worker runs nothing right now; nil while it does. Its own data plane may well serve.
	Ready   func() error
	Version string
}

// executor holds the handlers of a worker.
type executor struct{ cfg ExecutorConfig }

// NewExecutorHandler makes the API of a worker. Starting and cancelling are idempotent by execution id: a
// request may come twice, late, or after its sender has gone.
func NewExecutorHandler(cfg ExecutorConfig) http.Handler {
	mux := http.NewServeMux()
	c := huma.DefaultConfig("Sluice worker", cfg.Version)
	c.DocsPath, c.CreateHooks, c.SchemasPath = "", nil, ""
	x := &executor{cfg}
	h := humago.New(mux, c)
	get(h, "health", "/healthz", "Say that this process lives", x.health)
	get(h, "ready", "/readyz", "Say whether this worker can run executions", x.ready)
	get(h, "get-executor", internal, "Show what this worker has room for", x.load)
	get(h, "get-execution-status", internal+"/status", "Show one execution", x.status)
	post(h, "start-execution", internal+"/start", "Start an execution that was reserved for this worker", x.start)
	post(h, "cancel-execution", internal+"/cancel", "Cancel an execution", x.cancel)
	post(h, "drain-executor", "/api/v1/executor/drain", "Take nothing new from now on", x.drain)
	return mux
}

// ExecutorHealth says that a worker lives.
type ExecutorHealth struct {
	Status   string        `json:"status" doc:"always ok"`
	Endpoint core.Endpoint `json:"endpoint"`
	Version  string        `json:"version"`
}

func (x *executor) health(context.Context, *none) (*body[ExecutorHealth], error) {
	l, ok := x.cfg.Executor.Load()
	if !ok {
		return nil, newProblem(http.StatusServiceUnavailable, "this worker is stopping")
	}
	return &body[ExecutorHealth]{ExecutorHealth{"ok", l.Endpoint, x.cfg.Version}}, nil
}

func (x *executor) ready(ctx context.Context, in *none) (*body[core.Load], error) {
	if err := x.cfg.Ready(); err != nil {
		return nil, newProblem(http.StatusServiceUnavailable, err.Error())
	}
	return x.load(ctx, in)
}

func (x *executor) load(context.Context, *none) (*body[core.Load], error) {
	l, ok := x.cfg.Executor.Load()
	if !ok {
		return nil, newProblem(http.StatusServiceUnavailable, "this worker is stopping")
	}
	return &body[core.Load]{l}, nil
}

type startInput struct{ Body core.Execution }

// Started is the answer to a start: a reason refuses it.
type Started struct {
	Refused core.Reason `json:"refused"`
}

func (x *executor) start(ctx context.Context, in *startInput) (*body[Started], error) {
	if err := x.cfg.Ready(); err != nil {
		return nil, newProblem(http.StatusServiceUnavailable, err.Error())
	}
	reason, err := x.cfg.Executor.Start(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return &body[Started]{Started{reason}}, nil
}

// Cancellation names the execution to cancel, and why.
type Cancellation struct {
	Target    core.Target      `json:"target"`
	Execution core.ExecutionID `json:"execution"`
	Why       core.Failure     `json:"why"`
}

type cancelInput struct{ Body Cancellation }

// ExecutionStatus is what a worker knows of an execution.
type ExecutionStatus struct {
	Known    bool          `json:"known" doc:"false for one that this process did not start"`
	Phase    core.Phase    `json:"phase,omitempty"`
	Counters core.Counters `json:"counters"`
}

func (x *executor) cancel(ctx context.Context, in *cancelInput) (*body[ExecutionStatus], error) {
	s, err := x.cfg.Executor.Cancel(ctx, in.Body.Target, in.Body.Execution, in.Body.Why)
	if err != nil {
		return nil, err
	}
	return &body[ExecutionStatus]{ExecutionStatus(s)}, nil
}

type statusInput struct {
	Target    string `query:"target" required:"true"`
	Execution string `query:"execution" required:"true"`
}

func (x *executor) status(ctx context.Context, in *statusInput) (*body[ExecutionStatus], error) {
	t, err := parse(in.Target)
	if err != nil {
		return nil, err
	}
	s, err := x.cfg.Executor.Status(ctx, t, core.ExecutionID(in.Execution))
	if err != nil {
		return nil, err
	}
	return &body[ExecutionStatus]{ExecutionStatus(s)}, nil
}

// drain may be asked again and again: once the load says accepting false and active 0, the worker is empty.
func (x *executor) drain(ctx context.Context, in *none) (*body[core.Load], error) {
	x.cfg.Executor.StopTaking()
	return x.load(ctx, in)
}
