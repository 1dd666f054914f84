package rest

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// Master is what the API asks of a master. Implemented by driver.Master.
type Master interface {
	Merge(ctx context.Context, t core.Target, now bool) (core.AnswerMerge, error)
	Adopt(ctx context.Context, t core.Target, gone bool) (core.AnswerMerge, error)
	Mode(ctx context.Context, t core.Target, m core.Mode) (core.AnswerOperator, error)
	Policy(ctx context.Context, t core.Target, p core.Policy) (core.AnswerOperator, error)
	Forget(ctx context.Context, t core.Target, e core.Endpoint) (core.AnswerOperator, error)
	// Why is why the target does not run right now.
	Why(t core.Target) core.Reason
}

// Worker is what the API asks of this process's worker. Implemented by driver.Worker.
type Worker interface {
	Status(ctx context.Context, t core.Target, e core.ExecutionID) (core.Status, error)
}

// Config says what the API shows. All fields are required.
type Config struct {
	KV     kv.KV
	Lake   lake.Lake
	Master Master
	Worker Worker
	// Drain has the worker of that endpoint take nothing new, and says what it has left to do.
	Drain func(ctx context.Context, w core.WorkerRecord) (core.Load, error)
	// Identity is the KV's record, or why it is not known yet.
	Identity func() (core.KVRecord, error)
	Version  string
}

// api holds the handlers.
type api struct{ cfg Config }

// The time limits of one request: reading records and manifests, and asking a machine.
const (
	readLimit  = 30 * time.Second
	askLimit   = 60 * time.Second
	probeLimit = 2 * time.Second
)

// NewHandler makes the API. It trusts its caller; see [Serve] for what stands before it.
func NewHandler(cfg Config) http.Handler {
	mux := http.NewServeMux()
	c := huma.DefaultConfig("Sluice", cfg.Version)
	c.DocsPath = ""     // its page would load scripts from the internet
	c.CreateHooks = nil // bodies are exactly what is documented, without a $schema in each
	c.SchemasPath = ""
	a := &api{cfg}
	a.register(humago.New(mux, c))
	return mux
}

func (a *api) register(h huma.API) {
	get(h, "health", "/healthz", "Say which process this is", a.health)
	get(h, "ready", "/readyz", "Say whether the KV answers", a.ready)
	get(h, "list-targets", "/api/v1/targets", "List the tables of the lake", a.targets)
	get(h, "get-target", "/api/v1/target", "Show one table", a.target)
	get(h, "get-merge-progress", "/api/v1/merge-progress", "Show what runs on a table right now", a.progress)
	get(h, "list-executions", "/api/v1/executions", "List the last executions of a table, oldest first", a.executions)
	get(h, "list-takeovers", "/api/v1/takeovers", "List the last recoveries of a table, oldest first", a.takeovers)
	get(h, "list-merge-failures", "/api/v1/scheduler/merge-failures", "List the budgets of repeated failures", a.failures)
	post(h, "merge", "/api/v1/merge", "Ask for a merge", a.merge)
	post(h, "adopt", "/api/v1/adopt", "Adopt a table anew", a.adopt)
	get(h, "get-policy", "/api/v1/target/policy", "Show the policy of a table", a.policy)
	put(h, "put-policy", "/api/v1/target/policy", "Replace the policy of a table", a.setPolicy)
	put(h, "put-mode", "/api/v1/target/mode", "Say who may merge a table", a.setMode)
	post(h, "forget-failures", "/api/v1/failures/forget", "Forget the failures of an endpoint", a.forget)
	post(h, "drain-executor", "/api/v1/executor/drain", "Have a worker take nothing new", a.drain)
}

// body is a handler's answer.
type body[B any] struct{ Body B }

func get[I, B any](h huma.API, id, path, summary string, do func(context.Context, *I) (*body[B], error)) {
	huma.Register(h, operation(h, http.MethodGet, id, path, summary), bounded(readLimit, do))
}

func post[I, B any](h huma.API, id, path, summary string, do func(context.Context, *I) (*body[B], error)) {
	huma.Register(h, operation(h, http.MethodPost, id, path, summary), bounded(askLimit, do))
}

func put[I, B any](h huma.API, id, path, summary string, do func(context.Context, *I) (*body[B], error)) {
	huma.Register(h, operation(h, http.MethodPut, id, path, summary), bounded(askLimit, do))
}

// operation describes a request; every error of it is a [Problem].
func operation(h huma.API, method, id, path, summary string) huma.Operation {
	problem := h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		Responses: map[string]*huma.Response{"default": {
			Description: "Error", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
		}},
	}
}

// bounded gives a handler its time limit and turns what it returns into a problem.
func bounded[I, B any](limit time.Duration, do func(context.Context, *I) (*body[B], error)) func(context.Context, *I) (*body[B], error) {
	return func(ctx context.Context, in *I) (*body[B], error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		out, err := do(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return out, nil
	}
}

// none is the input of a request without parameters.
type none struct{}

// Health says which process this is.
type Health struct {
	Status  string `json:"status" doc:"always ok"`
	KV      string `json:"kv" doc:"the random id of the KV, empty until it has answered; the lake's _sluice/lake.json names the same"`
	Lake    string `json:"lake"`
	Version string `json:"version"`
}

func (a *api) health(context.Context, *none) (*body[Health], error) {
	id, _ := a.cfg.Identity() // a process that waits for its KV is in good health
	return &body[Health]{Health{"ok", id.ID, a.cfg.Lake.URI(), a.cfg.Version}}, nil
}

// Readiness says how many processes are registered.
type Readiness struct {
	Status  string `json:"status" doc:"always ready"`
	Masters int    `json:"masters"`
	Workers int    `json:"workers"`
}

func (a *api) ready(ctx context.Context, _ *none) (*body[Readiness], error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	v, err := a.view(ctx, core.MasterRange(), core.WorkerRange())
	switch {
	case err != nil:
		return nil, err
	case len(v.Masters) == 0 || len(v.Workers) == 0:
		return nil, newProblem(http.StatusServiceUnavailable, "no master or no worker is registered yet")
	}
	return &body[Readiness]{Readiness{"ready", len(v.Masters), len(v.Workers)}}, nil
}

// view reads records of the KV.
func (a *api) view(ctx context.Context, ranges ...core.Range) (*core.View, error) {
	s, err := a.cfg.KV.Read(ctx, ranges...)
	if err != nil {
		return nil, core.Failure{Code: core.CodeKV, Detail: fmt.Sprintf("read the KV: %v", err)}
	}
	return core.ViewOf(s.Revision, s.Records), nil
}
