package rest_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/rest"
)

func TestARequestForAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:99": 200, "localhost:8080": 200, "[::1]:80": 200, "[::1]": 200,
		"evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "10.0.0.1": 421, "localhost.": 421,
	} {
		status, text := r.do(http.MethodGet, "/healthz", func(q *http.Request) { q.Host = host })
		if status != want {
			t.Errorf("host %s: expected %d, got %d: %s", host, want, status, text)
		}
	}
}

func TestARequestOfAnotherSitesPageIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, header := range map[string][2]string{
		"by its fetch metadata": {"Sec-Fetch-Site", "cross-site"},
		"by its origin":         {"Origin", "https://evil.example"},
	} {
		status, text := r.do(http.MethodPost, "/api/v1/merge?target=db/events", func(q *http.Request) { q.Header.Set(header[0], header[1]) })
		if status != http.StatusForbidden || len(r.master.asked) > 0 {
			t.Errorf("%s: expected 403 and no merge, got %d: %s", name, status, text)
		}
	}
}

func TestOnlyTheLoopbackIsServed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "10.0.0.1:80", "example.com:80", "127.0.0.1", ""} {
		if l, err := rest.Listen(t.Context(), address); err == nil {
			l.Close()
			t.Errorf("it listens on %q", address)
		}
	}
}

func TestAPortInUseIsNamed(t *testing.T) {
	t.Parallel()
	l, err := rest.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = rest.Listen(t.Context(), l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) || !strings.Contains(err.Error(), "--http") {
		t.Errorf("expected an error that names the address and what to do, got %v", err)
	}
}

func TestAServerEndsWhenItIsClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, err := rest.Listen(t.Context(), "127.0.0.1:0")
	r.must(err)
	s := rest.Serve(l, rest.NewHandler(rest.Config{KV: r.kv, Lake: r.lake, Master: r.master, Worker: r.worker, Identity: r.identity}), slog.New(slog.DiscardHandler))
	client := rest.Client{URL: s.URL()}
	if _, err := client.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.must(s.Close())
	if _, err := client.Health(t.Context()); err == nil {
		t.Error("it still answers")
	}
}

func TestTheAPIDescribesItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	status, text := r.get("/openapi.json")
	var doc struct {
		OpenAPI    string                    `json:"openapi"`
		Paths      map[string]map[string]any `json:"paths"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	r.must(json.Unmarshal([]byte(text), &doc))
	if status != http.StatusOK || !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("expected OpenAPI 3.1, got %d with %q", status, doc.OpenAPI)
	}
	for _, path := range []string{
		"/healthz", "/readyz", "/api/v1/targets", "/api/v1/target", "/api/v1/merge", "/api/v1/adopt",
		"/api/v1/merge-progress", "/api/v1/executions", "/api/v1/takeovers", "/api/v1/scheduler/merge-failures",
		"/api/v1/target/policy", "/api/v1/target/mode", "/api/v1/failures/forget", "/api/v1/executor/drain",
	} {
		if doc.Paths[path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
	problem := doc.Components.Schemas["Problem"].Properties
	for _, field := range []string{"title", "status", "detail", "code", "reason"} {
		if problem[field] == nil {
			t.Errorf("a problem's %s is not described; it has %v", field, slices.Sorted(maps.Keys(problem)))
		}
	}
	if strings.Contains(text, "$schema") {
		t.Error("bodies are described with a $schema that they don't have")
	}
}
