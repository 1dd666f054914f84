package rest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func TestAModeIsAskedOfTheMasterAndSaysWhatGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.master.says = core.AnswerOperator{Changed: 1}
	r.put(core.ExecutionKey(events), core.Execution{ID: "e7", Number: 7, Target: events, Phase: core.Running})
	a, err := r.client().SetMode(t.Context(), events, core.Draining)
	r.must(err)
	if a.Mode != core.Draining || !a.Changed || a.Running == nil || a.Running.Number != 7 || r.master.wish != core.Draining {
		t.Errorf("got %+v, the master was asked for %v", a, r.master.wish)
	}
}

func TestAPolicyIsReplacedAndShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if p, err := r.client().Policy(t.Context(), events); err != nil || core.Encode(p.Policy) != "{}" {
		t.Errorf("expected no policy, got %+v, %v", p, err)
	}
	four := 4
	doc := core.Policy{Mode: core.Owned, PendingGenerations: &four}
	_, err := r.client().SetPolicy(t.Context(), events, doc)
	r.must(err)
	if got := core.Encode(r.master.wish); got != core.Encode(doc) {
		t.Errorf("the master was asked for %s", got)
	}
	r.put(core.PolicyKey(events), doc)
	if p, err := r.client().Policy(t.Context(), events); err != nil || core.Encode(p.Policy) != core.Encode(doc) {
		t.Errorf("got %+v, %v", p, err)
	}
}

// Maintenance that no live worker can do would wait without end, and nobody would hear why.
func TestAPolicyNamesOnlyWhatSomeWorkerCanDo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	doc := core.Policy{Kinds: []core.Kind{core.KindCompact}}
	_, err := r.client().SetPolicy(t.Context(), events, doc)
	var p *rest.Problem
	if !errors.As(err, &p) || p.Status != http.StatusConflict || p.Reason != core.ReasonNoWorker || r.master.wish != nil {
		t.Errorf("expected a refusal, got %+v, and the master was asked for %v", err, r.master.wish)
	}
	r.put(core.WorkerKey("w1"), core.WorkerRecord{Endpoint: "w1", Capabilities: []core.Capability{core.OwnedMerge, "compact/1"}})
	if _, err := r.client().SetPolicy(t.Context(), events, doc); err != nil {
		t.Errorf("a worker can do it: %v", err)
	}
}

func TestFailuresAreForgottenOnOneTableOrOnAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.master.says = core.AnswerOperator{Changed: 3}
	for _, target := range []core.Target{events, ""} {
		a, err := r.client().Forget(t.Context(), target, core.Unowned)
		r.must(err)
		if a != (rest.Forgotten{Endpoint: core.Unowned, Targets: 3}) || r.master.wish != core.Unowned || r.master.asked[len(r.master.asked)-1] != target {
			t.Errorf("got %+v, the master was asked for %v on %v", a, r.master.wish, r.master.asked)
		}
	}
	r.master.says = core.AnswerOperator{Changed: 2, Refused: core.ReasonOwnedElsewhere, Detail: "execution 7 is charged to w1"}
	if _, err := r.client().Forget(t.Context(), "", "w1"); err == nil || err.Error() != "forgotten on 2 tables, but: execution 7 is charged to w1" {
		t.Errorf("got %v", err)
	}
}

func TestARefusalSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	for reason, status := range map[core.Reason]int{
		core.ReasonOwnedElsewhere: http.StatusConflict, core.ReasonModeDisagreement: http.StatusConflict,
		core.ReasonInvalid: http.StatusUnprocessableEntity, core.ReasonKVDown: http.StatusServiceUnavailable,
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.master.says = core.AnswerOperator{Refused: reason, Detail: "this is in the way"}
			_, err := r.client().SetMode(t.Context(), events, core.Direct)
			var p *rest.Problem
			if !errors.As(err, &p) || p.Status != status || p.Reason != reason || p.Detail != "this is in the way" {
				t.Errorf("expected %d with the reason, got %+v", status, err)
			}
		})
	}
}

func TestAWorkerIsDrainedByItsName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(core.WorkerKey("w1"), core.WorkerRecord{Endpoint: "w1"})
	l, err := r.client().DrainWorker(t.Context(), "w1")
	r.must(err)
	if l.Endpoint != "w1" || l.Accepting || l.Active != 1 {
		t.Errorf("got %+v", l)
	}
	var p *rest.Problem
	if _, err := r.client().DrainWorker(t.Context(), "w2"); !errors.As(err, &p) || p.Status != http.StatusNotFound {
		t.Errorf("expected 404 for a worker that nobody knows, got %v", err)
	}
}

func TestABadWishReachesNoMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"a mode that doesn't exist":        {"PUT", "/api/v1/target/mode?name=db/events", `{"mode":"sideways"}`, 422},
		"no mode":                          {"PUT", "/api/v1/target/mode?name=db/events", `{}`, 422},
		"a mode of a name with dots":       {"PUT", "/api/v1/target/mode?name=../x", `{"mode":"owned"}`, 400},
		"a policy with an unknown field":   {"PUT", "/api/v1/target/policy?name=db/events", `{"pending":4}`, 422},
		"a policy with words for a number": {"PUT", "/api/v1/target/policy?name=db/events", `{"pending_generations":"four"}`, 422},
		"a policy of no name":              {"PUT", "/api/v1/target/policy", `{}`, 422},
		"forgetting nobody":                {"POST", "/api/v1/failures/forget?endpoint=", "", 422},
		"forgetting on a bad name":         {"POST", "/api/v1/failures/forget?endpoint=w1&target=a//b", "", 400},
		"draining nobody":                  {"POST", "/api/v1/executor/drain", "", 422},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			status, text := r.do(c.method, c.path, func(q *http.Request) {
				if c.body != "" {
					q.Body, q.ContentLength = io.NopCloser(strings.NewReader(c.body)), int64(len(c.body))
					q.Header.Set("Content-Type", "application/json")
				}
			})
			if status != c.status {
				t.Errorf("expected %d, got %d: %s", c.status, status, text)
			}
			if len(r.master.asked) > 0 {
				t.Errorf("the master was asked for %v", r.master.asked)
			}
		})
	}
}
