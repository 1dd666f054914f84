package rest

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sluice-data/sluice/core"
)

// TargetPolicy is the policy of a table; a document that says nothing is none.
type TargetPolicy struct {
	Target core.Target `json:"target"`
	Policy core.Policy `json:"policy"`
}

func (a *api) policy(ctx context.Context, in *nameInput) (*body[TargetPolicy], error) {
	t, err := parse(in.Name)
	if err != nil {
		return nil, err
	}
	v, err := a.view(ctx, core.Range{Key: core.PolicyKey(t)})
	if err != nil {
		return nil, err
	}
	if v.Target(t).Broken {
		return nil, newProblem(http.StatusInternalServerError, fmt.Sprintf("the policy of %s can't be read; it was written by a newer Sluice", t))
	}
	return &body[TargetPolicy]{TargetPolicy{t, v.Target(t).Policy.Value}}, nil
}

type policyInput struct {
	Name string `query:"name" required:"true" doc:"the table's path under the lake, without .lance"`
	Body core.Policy
}

func (a *api) setPolicy(ctx context.Context, in *policyInput) (*body[TargetPolicy], error) {
	t, err := parse(in.Name)
	if err != nil {
		return nil, err
	}
	if err := a.able(ctx, in.Body.Kinds); err != nil {
		return nil, err
	}
	answer, err := a.cfg.Master.Policy(ctx, t, in.Body)
	if err := obeyed(answer, err); err != nil {
		return nil, err
	}
	return &body[TargetPolicy]{TargetPolicy{t, in.Body}}, nil
}

// able refuses a policy that names maintenance which no live worker can do: it would wait without end.
func (a *api) able(ctx context.Context, kinds []core.Kind) error {
	if len(kinds) == 0 {
		return nil
	}
	v, err := a.view(ctx, core.WorkerRange())
	if err != nil {
		return err
	}
	for _, k := range kinds {
		if k.Maintains() && !v.Able(k) {
			p := newProblem(http.StatusConflict, fmt.Sprintf("no live worker can run %s; leave it out of kinds, or start a worker that can", k))
			p.Reason = core.ReasonNoWorker
			return p
		}
	}
	return nil
}

// ModeWish names a mode.
type ModeWish struct {
	Mode core.Mode `json:"mode" enum:"direct,owned,draining"`
}

type modeInput struct {
	Name string `query:"name" required:"true" doc:"the table's path under the lake, without .lance"`
	Body ModeWish
}

// Moded is a table's mode after an operator's word.
type Moded struct {
	Target core.Target `json:"target"`
	Mode   core.Mode   `json:"mode"`
	// Changed is false if it was so before.
	Changed bool `json:"changed"`
	// Running is what goes on: a table is drained once there is nothing.
	Running *core.Execution `json:"running"`
}

func (a *api) setMode(ctx context.Context, in *modeInput) (*body[Moded], error) {
	t, err := parse(in.Name)
	if err != nil {
		return nil, err
	}
	answer, err := a.cfg.Master.Mode(ctx, t, in.Body.Mode)
	if err := obeyed(answer, err); err != nil {
		return nil, err
	}
	v, err := a.view(ctx, core.Range{Key: core.ExecutionKey(t)})
	if err != nil {
		return nil, err
	}
	return &body[Moded]{Moded{t, in.Body.Mode, answer.Changed > 0, v.Target(t).Execution.Pointer()}}, nil
}

type forgetInput struct {
	Endpoint string `query:"endpoint" required:"true" minLength:"1" doc:"whose failures; ~unowned is that of shards without a live writer"`
	Target   string `query:"target" doc:"on this table alone; without it, on all"`
}

// Forgotten says how many budgets are gone.
type Forgotten struct {
	Endpoint core.Endpoint `json:"endpoint"`
	Targets  int           `json:"targets"`
}

func (a *api) forget(ctx context.Context, in *forgetInput) (*body[Forgotten], error) {
	t := core.Target("")
	if in.Target != "" {
		var err error
		if t, err = parse(in.Target); err != nil {
			return nil, err
		}
	}
	answer, err := a.cfg.Master.Forget(ctx, t, core.Endpoint(in.Endpoint))
	if err == nil && answer.Changed > 0 && answer.Refused != core.ReasonNone {
		answer.Detail = fmt.Sprintf("forgotten on %d tables, but: %s", answer.Changed, answer.Detail)
	}
	if err := obeyed(answer, err); err != nil {
		return nil, err
	}
	return &body[Forgotten]{Forgotten{core.Endpoint(in.Endpoint), answer.Changed}}, nil
}

type drainInput struct {
	Endpoint string `query:"endpoint" required:"true" minLength:"1" doc:"the worker's stable name"`
}

// drain may be asked again and again: once the load says accepting false and active 0, the worker is empty.
func (a *api) drain(ctx context.Context, in *drainInput) (*body[core.Load], error) {
	key := core.WorkerKey(core.Endpoint(in.Endpoint))
	v, err := a.view(ctx, core.Range{Key: key})
	if err != nil {
		return nil, err
	}
	if len(v.Workers) == 0 {
		return nil, newProblem(http.StatusNotFound, fmt.Sprintf("no live worker is registered as %q", in.Endpoint))
	}
	l, err := a.cfg.Drain(ctx, v.Workers[0].Value)
	if err != nil {
		return nil, err
	}
	return &body[core.Load]{l}, nil
}

// obeyed turns a refusal into an error that says what is in the way.
func obeyed(a core.AnswerOperator, err error) error {
	if err != nil || a.Refused == core.ReasonNone {
		return err
	}
	status := http.StatusConflict
	switch a.Refused {
	case core.ReasonInvalid:
		status = http.StatusUnprocessableEntity
	case core.ReasonKVDown:
		status = http.StatusServiceUnavailable
	}
	p := newProblem(status, a.Detail)
	p.Reason = a.Refused
	return p
}
