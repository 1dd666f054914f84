package rest_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func TestHealthNamesTheProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h, err := r.client().Health(t.Context())
	r.must(err)
	if h != (rest.Health{Status: "ok", KV: "the-kv", Lake: r.lake.URI(), Version: "v1.2.3"}) {
		t.Errorf("got %+v", h)
	}
}

func TestAProcessIsReadyOnceItIsRegistered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if status, text := r.get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("expected 503 before anybody is registered, got %d: %s", status, text)
	}
	r.put(core.MasterKey("m"), core.MasterRecord{ID: "m"})
	r.put(core.WorkerKey("w"), core.WorkerRecord{Endpoint: "w"})
	if got := want[rest.Readiness](r, "/readyz"); got != (rest.Readiness{Status: "ready", Masters: 1, Workers: 1}) {
		t.Errorf("got %+v", got)
	}
}

func TestTargetsShowWhatIsPendingAndWhyItDoesNotRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.master.why = core.ReasonNotSelected
	list := want[rest.Targets](r, "/api/v1/targets").Targets
	if len(list) != 2 || list[0].Name != events || list[1].Name != "plain" {
		t.Fatalf("expected both tables by name, got %+v", list)
	}
	got := list[0]
	if got.Pending.Generations == 0 || got.Reason != core.ReasonNotSelected || got.Mode != core.Direct || got.Broken != nil {
		t.Errorf("expected pending generations and the reason, got %+v", got)
	}
	sum := 0
	for _, s := range got.Pending.Shards {
		sum += s.Generations
		if s.Mark != got.Marks.Of(s.Shard) {
			t.Errorf("shard %s is pending from %d, its mark is %d", s.Shard, s.Mark, got.Marks.Of(s.Shard))
		}
	}
	if sum != got.Pending.Generations {
		t.Errorf("the shards have %d generations, the table %d", sum, got.Pending.Generations)
	}
	if plain := list[1]; plain.Reason != "" || plain.Broken == nil || plain.Broken.Code != core.CodeNoMemWAL {
		t.Errorf("expected a table without a MemWAL to say so, got %+v", plain)
	}
}

func TestATargetShowsItsLatchItsExecutionAndItsBudgets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(core.ModeKey(events), core.Latch{Mode: core.Draining})
	r.put(core.ExecutionKey(events), core.Execution{ID: "e7", Number: 7, Target: events, Phase: core.Running})
	r.put(core.FailureKey(events, "w"), core.FailureRecord{Target: events, Endpoint: "w", Code: core.CodeEngineOOM, Attempts: 2})
	got := want[rest.Target](r, "/api/v1/target?name=db/events")
	if got.Mode != core.Draining || got.Running == nil || got.Running.ID != "e7" || got.Reason != "" {
		t.Errorf("expected a draining table that runs, got %+v", got)
	}
	if len(got.Failures) != 1 || got.Failures[0].Attempts != 2 {
		t.Errorf("expected its budget, got %+v", got.Failures)
	}
}

func TestProgressComesFromTheWorkerOrElseFromTheRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.master.why = core.ReasonBackoff
	if p := want[rest.Progress](r, "/api/v1/merge-progress?target=db/events"); p.Running != nil || p.Reason != core.ReasonBackoff {
		t.Errorf("expected nothing to run, for a reason, got %+v", p)
	}
	r.put(core.ExecutionKey(events), core.Execution{ID: "e7", Number: 7, Target: events, Phase: core.Running})
	r.put(core.ProgressKey(events), core.Progress{Execution: "e7", Counters: core.Counters{Rows: 10}})
	if p := want[rest.Progress](r, "/api/v1/merge-progress?target=db/events"); p.Running.ID != "e7" || p.Counters.Rows != 10 || p.Reason != "" {
		t.Errorf("expected the record's counters, got %+v", p)
	}
	r.worker.status = core.Status{Known: true, Phase: core.Running, Counters: core.Counters{Rows: 25, Step: "merge"}}
	if p := want[rest.Progress](r, "/api/v1/merge-progress?target=db/events"); p.Counters.Rows != 25 || p.Counters.Step != "merge" {
		t.Errorf("expected the worker's counters, got %+v", p)
	}
}

func TestWhatTheMasterAnswersBecomesAStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer core.AnswerMerge
		status int
		words  string
	}{
		"it is asked for":              {core.AnswerMerge{Pending: 3, After: 7}, 200, `"pending":3,"after":7`},
		"the table is not owned":       {core.AnswerMerge{Refused: core.ReasonNotSelected}, 409, "restart dev with --owned db/events"},
		"the table is draining":        {core.AnswerMerge{Refused: core.ReasonDraining}, 409, "draining"},
		"the table is not there":       {core.AnswerMerge{Failure: core.Failure{Code: core.CodeTableMissing}}, 404, "E_TABLE_MISSING"},
		"the table can't be merged":    {core.AnswerMerge{Failure: core.Failure{Code: core.CodeNoPrimaryKey}}, 422, "E_NO_PRIMARY_KEY"},
		"the lake doesn't answer":      {core.AnswerMerge{Failure: core.Failure{Code: core.CodeStorage}}, 503, "E_STORAGE"},
		"a manifest is damaged":        {core.AnswerMerge{Failure: core.Failure{Code: core.CodeManifestCorrupt}}, 422, "E_MANIFEST_CORRUPT"},
		"the lake refuses credentials": {core.AnswerMerge{Failure: core.Failure{Code: core.CodeAuth}}, 503, "E_AUTH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.master.answer = c.answer
			status, text := r.do(http.MethodPost, "/api/v1/merge?target=db/events&kind=merge", nil)
			if status != c.status || !strings.Contains(text, c.words) {
				t.Errorf("expected %d with %q, got %d: %s", c.status, c.words, status, text)
			}
			if !slices.Equal(r.master.asked, []core.Target{events}) {
				t.Errorf("the master was asked for %v", r.master.asked)
			}
		})
	}
}

func TestABadRequestReachesNoMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		status       int
	}{
		"a name that leaves the lake":     {"POST", "/api/v1/merge?target=../x", 400},
		"a name with two slashes":         {"GET", "/api/v1/target?name=a//b", 400},
		"no name":                         {"POST", "/api/v1/merge", 422},
		"a kind that doesn't exist":       {"POST", "/api/v1/merge?target=db/events&kind=drop", 422},
		"a table that isn't there":        {"GET", "/api/v1/target?name=nope", 404},
		"adopting what has no MemWAL":     {"POST", "/api/v1/adopt?target=plain", 422},
		"adopting what isn't there":       {"POST", "/api/v1/adopt?target=nope", 404},
		"progress of a name with a dot":   {"GET", "/api/v1/merge-progress?target=./x", 400},
		"executions of an empty name":     {"GET", "/api/v1/executions?target=", 422},
		"takeovers of a name under ours":  {"GET", "/api/v1/takeovers?target=_sluice/x", 400},
		"takeovers after no number":       {"GET", "/api/v1/takeovers?target=db/events&after=x", 400},
		"executions after a negative one": {"GET", "/api/v1/executions?target=db/events&after=-1", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			status, text := r.do(c.method, c.path, nil)
			if status != c.status {
				t.Errorf("expected %d, got %d: %s", c.status, status, text)
			}
			if len(r.master.asked) > 0 {
				t.Errorf("the master was asked for %v", r.master.asked)
			}
		})
	}
}

func TestAnAdoptionShowsTheNewIdentity(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(core.TableKey(events), core.TableRecord{ID: "new", Adopted: 9, LastExecution: 4})
	a, err := r.client().Adopt(t.Context(), events, false)
	r.must(err)
	if a != (rest.Adopted{Target: events, TableID: "new", Version: 9, LastExecution: 4}) {
		t.Errorf("got %+v", a)
	}
}

func TestTheClientReturnsProblemsWithTheirCode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.master.answer.Refused = core.ReasonLatched
	_, err := r.client().Merge(t.Context(), events, false)
	var p *rest.Problem
	if !errors.As(err, &p) || p.Status != http.StatusConflict || p.Reason != core.ReasonLatched {
		t.Errorf("expected a problem with its reason, got %v", err)
	}
	_, err = r.client().Target(t.Context(), "nope")
	if !errors.As(err, &p) || p.Code != core.CodeTableMissing {
		t.Errorf("expected a problem with its code, got %v", err)
	}
}
