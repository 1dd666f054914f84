package rest

import (
	"context"
	"net/http"
	"net/url"

	"github.com/sluice-data/sluice/core"
)

// Policy shows the policy of a table.
func (c Client) Policy(ctx context.Context, t core.Target) (TargetPolicy, error) {
	return ask[TargetPolicy](ctx, c, http.MethodGet, "/api/v1/target/policy", url.Values{"name": {string(t)}})
}

// SetPolicy replaces the policy of a table.
func (c Client) SetPolicy(ctx context.Context, t core.Target, p core.Policy) (TargetPolicy, error) {
	return send[TargetPolicy](ctx, c, http.MethodPut, "/api/v1/target/policy", url.Values{"name": {string(t)}}, p)
}

// SetMode says who may merge a table.
func (c Client) SetMode(ctx context.Context, t core.Target, m core.Mode) (Moded, error) {
	return send[Moded](ctx, c, http.MethodPut, "/api/v1/target/mode", url.Values{"name": {string(t)}}, ModeWish{m})
}

// Forget forgets the failures of an endpoint, on one table or, if t is empty, on all.
func (c Client) Forget(ctx context.Context, t core.Target, e core.Endpoint) (Forgotten, error) {
	query := url.Values{"endpoint": {string(e)}}
	if t != "" {
		query.Set("target", string(t))
	}
	return ask[Forgotten](ctx, c, http.MethodPost, "/api/v1/failures/forget", query)
}

// DrainWorker has a worker take nothing new, and says what it has left to do.
func (c Client) DrainWorker(ctx context.Context, e core.Endpoint) (core.Load, error) {
	return ask[core.Load](ctx, c, http.MethodPost, "/api/v1/executor/drain", url.Values{"endpoint": {string(e)}})
}

// Failures lists all budgets of repeated failures, ordered by target and endpoint.
func (c Client) Failures(ctx context.Context) (all []MergeFailure, err error) {
	query := url.Values{}
	for {
		page, err := ask[MergeFailures](ctx, c, http.MethodGet, "/api/v1/scheduler/merge-failures", query)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Failures...)
		if page.Next == nil {
			return all, nil
		}
		query.Set("after", *page.Next)
	}
}
