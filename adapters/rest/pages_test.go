package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func TestFailuresComeInPagesOrderedByTargetAndEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// "a b" sorts before "a!" as a name; as keys they are percent-encoded, and it is the other way round.
	targets := []core.Target{"a b", "a!", "db", "db/events"}
	var all []string
	txn := core.Txn{Name: "test"}
	for i, t := range targets {
		for e := range 75 {
			f := core.FailureRecord{
				Target: t, Endpoint: core.Endpoint(fmt.Sprintf("w%02d", e)), Class: core.Transient, Code: core.CodeEngineOOM,
				Attempts: e + 1, LastError: "boom", Last: 5, Next: 7, Attention: i == 0,
			}
			txn.Then = append(txn.Then, core.Put(core.FailureKey(f.Target, f.Endpoint), core.Encode(f)))
			all = append(all, string(t)+" "+string(f.Endpoint))
			if len(txn.Then) == 100 {
				_, err := r.kv.Commit(r.Context(), txn)
				r.must(err)
				txn.Then = nil
			}
		}
	}
	before := r.revision()
	first := want[rest.MergeFailures](r, "/api/v1/scheduler/merge-failures")
	if len(first.Failures) != rest.PageSize || first.Next == nil {
		t.Fatalf("expected a full page and a cursor, got %d and %v", len(first.Failures), first.Next)
	}
	second := want[rest.MergeFailures](r, "/api/v1/scheduler/merge-failures?after="+url.QueryEscape(*first.Next))
	if second.Next != nil {
		t.Errorf("the last page has the cursor %s", *second.Next)
	}
	var got []string
	for _, f := range append(first.Failures, second.Failures...) {
		got = append(got, string(f.Target)+" "+string(f.Endpoint))
	}
	if !slices.Equal(got, all) {
		t.Errorf("expected %d records in order, got %d: %v", len(all), len(got), got)
	}
	if after := r.revision(); after != before {
		t.Errorf("reading moved the KV from revision %d to %d", before, after)
	}
}

func TestAFailureHasExactlyTheDocumentedFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(core.FailureKey(events, core.Unowned), core.FailureRecord{Target: events, Endpoint: core.Unowned, Code: core.CodeStorage, Class: core.Transient})
	_, text := r.get("/api/v1/scheduler/merge-failures")
	var got struct {
		Failures []map[string]any `json:"failures"`
		Next     any              `json:"next"`
	}
	r.must(json.Unmarshal([]byte(text), &got))
	fields := []string{"class", "code", "consecutive_attempts", "endpoint", "last_error", "last_failure_ms", "needs_attention", "next_retry_ms", "target"}
	if len(got.Failures) != 1 || !slices.Equal(slices.Sorted(maps.Keys(got.Failures[0])), fields) {
		t.Errorf("expected one record with %v, got %s", fields, text)
	}
	var whole map[string]any
	r.must(json.Unmarshal([]byte(text), &whole))
	if !slices.Equal(slices.Sorted(maps.Keys(whole)), []string{"failures", "next"}) || whole["next"] != nil {
		t.Errorf("expected failures, and next null, got %s", text)
	}
}

func TestAnInvalidCursorIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, cursor := range map[string]string{
		"words":           "hello world",
		"other base64":    "aGVsbG8",
		"one part":        "WyJhIl0",
		"three parts":     "WyJhIiwiYiIsImMiXQ",
		"not its one way": "WyJhIiwgImIiXQ",
	} {
		t.Run(name, func(t *testing.T) {
			status, text := r.get("/api/v1/scheduler/merge-failures?after=" + url.QueryEscape(cursor))
			if status != http.StatusBadRequest || !strings.Contains(text, "cursor") {
				t.Errorf("expected 400, got %d: %s", status, text)
			}
		})
	}
}

func TestExecutionsAndTakeoversAreListedAfterANumber(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := uint64(1); n <= 12; n++ {
		r.put(core.HistoryKey(events, n), core.History{Execution: core.Execution{Number: n, Target: events}, Merged: n%2 == 0})
	}
	r.put(core.HistoryKey("db", 1), core.History{Execution: core.Execution{Number: 1, Target: "db"}})
	r.put(core.TakeoverKey(events, 11), core.Takeover{Execution: "e11", Fenced: []core.Fenced{{Resource: core.Base, Admitted: 8, Found: 7}}})
	list, err := r.client().Executions(t.Context(), events, 9)
	r.must(err)
	if len(list) != 3 || list[0].Execution.Number != 10 || list[2].Execution.Number != 12 || !list[0].Merged {
		t.Errorf("expected executions 10 to 12, got %+v", list)
	}
	took := want[rest.Takeovers](r, "/api/v1/takeovers?target=db/events")
	if len(took.Takeovers) != 1 || took.Takeovers[0].Number != 11 || took.Takeovers[0].Fenced[0].Fences() != 1 || took.Next != nil {
		t.Errorf("expected the recovery of execution 11, got %+v", took)
	}
	if none := want[rest.Executions](r, "/api/v1/executions?target=other"); len(none.Executions) != 0 || none.Next != nil {
		t.Errorf("expected an empty list, got %+v", none)
	}
}

func (r *rig) revision() core.Revision {
	r.Helper()
	s, err := r.kv.Read(r.Context(), core.Everything())
	r.must(err)
	return s.Revision
}
