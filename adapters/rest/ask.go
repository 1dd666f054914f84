package rest

import (
	"context"
	"net/http"

	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

type mergeInput struct {
	Target string `query:"target" required:"true" doc:"the table's path under the lake, without .lance"`
	Kind   string `query:"kind" default:"merge" enum:"merge" doc:"what to run"`
	Now    bool   `query:"now" doc:"a person asks: the next attempt does not wait for the retry that earlier failures have set"`
}

// Asked is the answer to a request for a merge.
type Asked struct {
	Target core.Target `json:"target"`
	// Pending counts the SSTables above the marks; 0 means that there is nothing to do.
	Pending int `json:"pending"`
	// After is the number of the newest execution so far: those that serve the request have higher ones.
	After uint64 `json:"after"`
}

func (a *api) merge(ctx context.Context, in *mergeInput) (*body[Asked], error) {
	t, err := parse(in.Target)
	if err != nil {
		return nil, err
	}
	answer, err := a.cfg.Master.Merge(ctx, t, in.Now)
	if err := judged(t, answer, err); err != nil {
		return nil, err
	}
	return &body[Asked]{Asked{t, answer.Pending, answer.After}}, nil
}

type targetInput struct {
	Target string `query:"target" required:"true" doc:"the table's path under the lake, without .lance"`
}

// Adopted is a table's new identity.
type Adopted struct {
	Target  core.Target  `json:"target"`
	TableID core.TableID `json:"table_id"`
	Version core.Version `json:"version" doc:"the base version that carries the id first"`
	// LastExecution is the highest number that an execution from before can have.
	LastExecution uint64 `json:"last_execution"`
}

type adoptInput struct {
	Target string `query:"target" required:"true" doc:"the table's path under the lake, without .lance"`
	Gone   bool   `query:"gone" doc:"the table is gone for good: end what owns it, and adopt nothing"`
}

func (a *api) adopt(ctx context.Context, in *adoptInput) (*body[Adopted], error) {
	t, err := parse(in.Target)
	if err != nil {
		return nil, err
	}
	if !in.Gone {
		// What can't be adopted is refused before the machine begins.
		table, err := lance.ReadTable(ctx, a.cfg.Lake, t)
		if err != nil {
			return nil, err
		}
		if f := core.Adoptable(table); !f.OK() {
			return nil, f
		}
	}
	answer, err := a.cfg.Master.Adopt(ctx, t, in.Gone)
	if err := judged(t, answer, err); err != nil {
		return nil, err
	}
	v, err := a.view(ctx, core.Range{Key: core.TableKey(t)})
	if err != nil {
		return nil, err
	}
	rec := v.Target(t).Table.Value
	return &body[Adopted]{Adopted{t, rec.ID, rec.Adopted, rec.LastExecution}}, nil
}

// judged turns a machine's answer into an error, if it is none to build on.
func judged(t core.Target, a core.AnswerMerge, err error) error {
	switch {
	case err != nil:
		return err
	case !a.Failure.OK():
		return a.Failure
	case a.Refused != core.ReasonNone:
		return refused(t, a.Refused)
	}
	return nil
}

func parse(name string) (core.Target, error) {
	t, err := core.ParseTarget(name)
	if err != nil {
		return "", newProblem(http.StatusBadRequest, err.Error())
	}
	return t, nil
}
