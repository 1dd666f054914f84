package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// PageSize bounds the records of one answer.
const PageSize = 256

type historyInput struct {
	Target string `query:"target" required:"true" doc:"the table's path under the lake, without .lance"`
	After  string `query:"after" doc:"the number of an execution: only later ones are listed"`
}

// Executions are the last executions of a table, oldest first.
type Executions struct {
	Executions []core.History `json:"executions"`
	Next       *string        `json:"next" doc:"pass it as after for the next page; null on the last one"`
}

func (a *api) executions(ctx context.Context, in *historyInput) (*body[Executions], error) {
	list, next, err := numbered(ctx, a, in, core.HistoryRange, func(_ uint64, h core.History) core.History { return h })
	return &body[Executions]{Executions{list, next}}, err
}

// Takeover is what the recovery of one execution did.
type Takeover struct {
	Number uint64 `json:"number" doc:"the number of the execution"`
	core.Takeover
}

// Takeovers are the last recoveries of a table, oldest first.
type Takeovers struct {
	Takeovers []Takeover `json:"takeovers"`
	Next      *string    `json:"next" doc:"pass it as after for the next page; null on the last one"`
}

func (a *api) takeovers(ctx context.Context, in *historyInput) (*body[Takeovers], error) {
	list, next, err := numbered(ctx, a, in, core.TakeoverRange, func(n uint64, t core.Takeover) Takeover { return Takeover{n, t} })
	return &body[Takeovers]{Takeovers{list, next}}, err
}

// numbered reads a page of records whose keys end with the number of an execution.
func numbered[R, Out any](ctx context.Context, a *api, in *historyInput, of func(core.Target) core.Range, out func(uint64, R) Out) ([]Out, *string, error) {
	t, err := parse(in.Target)
	if err != nil {
		return nil, nil, err
	}
	after := uint64(0)
	if in.After != "" {
		if after, err = strconv.ParseUint(in.After, 10, 64); err != nil {
			return nil, nil, badCursor(in.After, "pass the number of an execution")
		}
	}
	whole := of(t)
	s, err := a.cfg.KV.Read(ctx, whole)
	if err != nil {
		return nil, nil, core.Failure{Code: core.CodeKV, Detail: fmt.Sprintf("read the records of %s: %v", t, err)}
	}
	list := []Out{}
	last := after
	for _, rec := range s.Records {
		n, err := strconv.ParseUint(strings.TrimPrefix(rec.Key, whole.Key), 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("read record %s: %w", rec.Key, err)
		}
		if n <= after {
			continue
		}
		if len(list) == PageSize {
			next := strconv.FormatUint(last, 10)
			return list, &next, nil
		}
		r, err := core.Decode[R](rec.Key, rec.Value)
		if err != nil {
			return nil, nil, err
		}
		list, last = append(list, out(n, r)), n
	}
	return list, nil, nil
}

func badCursor(cursor, do string) *Problem {
	return newProblem(http.StatusBadRequest, fmt.Sprintf("after=%q is no cursor: %s", cursor, do))
}
