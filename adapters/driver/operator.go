package driver

import (
	"context"

	"github.com/sluice-data/sluice/core"
)

// Mode asks for a target to be put into a mode, see [core.ModeRequested].
func (m *Master) Mode(ctx context.Context, t core.Target, mode core.Mode) (core.AnswerOperator, error) {
	return ask[core.AnswerOperator](ctx, m.loop, m.asks, func(r core.RequestID) core.Event {
		return core.ModeRequested{Request: r, Target: t, Mode: mode}
	})
}

// Policy asks for the policy of a target to be replaced, see [core.PolicyRequested].
func (m *Master) Policy(ctx context.Context, t core.Target, p core.Policy) (core.AnswerOperator, error) {
	return ask[core.AnswerOperator](ctx, m.loop, m.asks, func(r core.RequestID) core.Event {
		return core.PolicyRequested{Request: r, Target: t, Policy: p}
	})
}

// Forget asks for the failures of an endpoint to be forgotten, on one target or, if t is empty, on all; see
// [core.ForgetRequested].
func (m *Master) Forget(ctx context.Context, t core.Target, e core.Endpoint) (core.AnswerOperator, error) {
	return ask[core.AnswerOperator](ctx, m.loop, m.asks, func(r core.RequestID) core.Event {
		return core.ForgetRequested{Request: r, Target: t, Endpoint: e}
	})
}
