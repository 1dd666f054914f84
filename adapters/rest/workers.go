package rest

import (
	"context"
	"net/http"
	"net/url"

	"github.com/sluice-data/sluice/core"
)

// Workers reaches the workers of a fleet over HTTP, by the URL that each has registered. It is what
// driver.NewMaster takes.
type Workers struct {
	// Caller shows the fleet's token and knows its certificates.
	Caller Caller
}

// Start asks a worker to run an execution that was reserved for it; a reason refuses it.
func (w Workers) Start(ctx context.Context, address string, e core.Execution) (core.Reason, error) {
	a, err := send[Started](ctx, w.at(address), http.MethodPost, internal+"/start", nil, e)
	return a.Refused, err
}

// Cancel asks a worker to end an execution.
func (w Workers) Cancel(ctx context.Context, address string, t core.Target, e core.ExecutionID, why core.Failure) (core.Status, error) {
	a, err := send[ExecutionStatus](ctx, w.at(address), http.MethodPost, internal+"/cancel", nil, Cancellation{t, e, why})
	return core.Status(a), err
}

// Status asks a worker what it knows of an execution.
func (w Workers) Status(ctx context.Context, address string, t core.Target, e core.ExecutionID) (core.Status, error) {
	a, err := ask[ExecutionStatus](ctx, w.at(address), http.MethodGet, internal+"/status", url.Values{"target": {string(t)}, "execution": {string(e)}})
	return core.Status(a), err
}

// Load asks a worker what it has room for.
func (w Workers) Load(ctx context.Context, address string) (core.Load, error) {
	return ask[core.Load](ctx, w.at(address), http.MethodGet, internal, nil)
}

// Drain asks a worker to take nothing new; its answer is what it has left to do.
func (w Workers) Drain(ctx context.Context, address string) (core.Load, error) {
	return ask[core.Load](ctx, w.at(address), http.MethodPost, "/api/v1/executor/drain", nil)
}

func (w Workers) at(address string) Client { return Client{URL: address, Caller: w.Caller} }
