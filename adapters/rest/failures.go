package rest

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluice-data/sluice/core"
)

type failuresInput struct {
	After string `query:"after" doc:"the next of an earlier page"`
}

// MergeFailures is one page of the budgets, ordered by target and endpoint.
type MergeFailures struct {
	Failures []MergeFailure `json:"failures"`
	Next     *string        `json:"next" doc:"pass it as after for the next page; null on the last one"`
}

// MergeFailure is the record of one (target, endpoint)'s repeated failures.
type MergeFailure struct {
	Target    core.Target     `json:"target"`
	Endpoint  core.Endpoint   `json:"endpoint"`
	Class     core.Class      `json:"class"`
	Code      core.Code       `json:"code"`
	Attempts  int             `json:"consecutive_attempts"`
	LastError string          `json:"last_error"`
	Last      core.WallMillis `json:"last_failure_ms"`
	NextRetry core.WallMillis `json:"next_retry_ms"`
	Attention bool            `json:"needs_attention"`
}

func (a *api) failures(ctx context.Context, in *failuresInput) (*body[MergeFailures], error) {
	var after position
	if in.After != "" {
		var err error
		if after, err = parsePosition(in.After); err != nil {
			return nil, badCursor(in.After, "pass the next of an earlier page")
		}
	}
	s, err := a.cfg.KV.Read(ctx, allFailures())
	if err != nil {
		return nil, core.Failure{Code: core.CodeKV, Detail: fmt.Sprintf("read the failures: %v", err)}
	}
	list := make([]MergeFailure, 0, len(s.Records))
	for _, rec := range s.Records {
		r, err := core.Decode[core.FailureRecord](rec.Key, rec.Value)
		if err != nil {
			return nil, err
		}
		if in.After != "" && comparePositions(position{r.Target, r.Endpoint}, after) <= 0 {
			continue
		}
		list = append(list, MergeFailure{
			Target: r.Target, Endpoint: r.Endpoint, Class: r.Class, Code: r.Code, Attempts: r.Attempts,
			LastError: r.LastError, Last: r.Last, NextRetry: r.Next, Attention: r.Attention,
		})
	}
	// NB: the keys are percent-encoded, so their order is not quite that of the names.
	slices.SortFunc(list, func(x, y MergeFailure) int {
		return comparePositions(position{x.Target, x.Endpoint}, position{y.Target, y.Endpoint})
	})
	out := MergeFailures{Failures: list}
	if len(list) > PageSize {
		last := list[PageSize-1]
		next := position{last.Target, last.Endpoint}.String()
		out.Failures, out.Next = list[:PageSize], &next
	}
	return &body[MergeFailures]{out}, nil
}

// position is a place in the list of failures, between two records: it stays valid when records come and go.
type position struct {
	Target   core.Target
	Endpoint core.Endpoint
}

func comparePositions(a, b position) int {
	return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Endpoint, b.Endpoint))
}

func (p position) String() string {
	text, err := json.Marshal([]string{string(p.Target), string(p.Endpoint)})
	if err != nil {
		panic(fmt.Sprintf("two strings can always be encoded: %v", err))
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parsePosition takes exactly what String gives.
func parsePosition(s string) (position, error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return position{}, err
	}
	var parts []string
	if err := json.Unmarshal(text, &parts); err != nil {
		return position{}, err
	}
	if len(parts) != 2 {
		return position{}, fmt.Errorf("%d parts", len(parts))
	}
	p := position{core.Target(parts[0]), core.Endpoint(parts[1])}
	if p.String() != s {
		return position{}, fmt.Errorf("not canonical")
	}
	return p, nil
}
