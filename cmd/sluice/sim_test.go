package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/sim"
)

// simCommandOf runs `sluice sim …` and returns what it printed.
func simCommandOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := rootCommand()
	root.SetOut(&out)
	root.SetArgs(append([]string{"sim"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSimRunPrintsItsProfileAndASummary(t *testing.T) {
	t.Parallel()
	out, err := simCommandOf(t, "run", "--seed", "1", "--hours", "0.2")
	if err != nil {
		t.Fatalf("seed 1: %v\n%s", err, out)
	}
	for _, want := range []string{"seed 1: ", "per mille of messages", "1 runs, 1 clean"} {
		if !strings.Contains(out, want) {
			t.Errorf("expected %q in\n%s", want, out)
		}
	}
}

func TestSimRunPrintsJSON(t *testing.T) {
	t.Parallel()
	out, err := simCommandOf(t, "run", "--seeds", "1..3", "--hours", "0.1", "--json")
	if err != nil {
		t.Fatalf("seeds 1..3: %v\n%s", err, out)
	}
	var got struct {
		Runs    int         `json:"runs"`
		Steps   int         `json:"steps"`
		Verdict sim.Verdict `json:"verdict"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Runs != 3 || got.Steps == 0 || got.Verdict != sim.Clean {
		t.Errorf("expected three clean runs, got %+v (%v) from\n%s", got, err, out)
	}
}

func TestSimReplayPlaysATraceAgainAndStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	run := sim.Run(sim.Options{Seed: 2, Hours: 0.1})
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.TraceOf(run, "test").Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := simCommandOf(t, "replay", name)
	if err != nil || strings.Contains(out, "NB:") {
		t.Errorf("expected the same digest: %v\n%s", err, out)
	}
	if out, err = simCommandOf(t, "replay", "--until", "50", name); err != nil || !strings.Contains(out, " 50 steps") || !strings.Contains(out, "KV at revision") || !strings.Contains(out, "table db: v") {
		t.Errorf("expected to stop at step 50: %v\n%s", err, out)
	}
}

func TestSimSaysWhatIsWrongWithItsCommandLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no range": {"run", "--seeds", "12"}, "a range that falls": {"run", "--seeds", "3..1"},
		"both": {"run", "--seed", "1", "--seeds", "1..2"}, "no hours": {"run", "--hours", "0"}, "hours without end": {"run", "--hours", "1e9"}, "hours that are no number": {"run", "--hours", "NaN"},
		"the last seed of all": {"run", "--seeds", "18446744073709551614..18446744073709551615"}, "no such profile": {"run", "--profile", "stormy"}, "no until": {"replay", "--until", "x", "y"}, "no trace": {"replay"},
	} {
		if _, err := simCommandOf(t, args...); err == nil || !strings.Contains(err.Error(), " ") {
			t.Errorf("%s: expected an error, got %v", name, err)
		}
	}
}

func TestVerdictsHaveExitCodesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for v, code := range map[sim.Verdict]int{sim.Clean: 0, sim.Crash: 1, sim.Safety: 3, sim.Liveness: 4, sim.Timeout: 5} {
		if exit(v) != code {
			t.Errorf("%s exits with %d, expected %d", v, exit(v), code)
		}
	}
	if worse(worse(sim.Timeout, sim.Safety), sim.Liveness) != sim.Safety {
		t.Error("a broken invariant counts before anything else")
	}
}

// A named profile narrows what the seed draws, its trace carries the name, and a page can be had of it.
func TestSimRunNarrowsToAProfileAndDrawsAPage(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "page.html")
	out, err := simCommandOf(t, "run", "--seed", "4", "--hours", "0.2", "--profile", "storage", "--html", name)
	if err != nil || !strings.Contains(out, "seed 4, profile storage") || !strings.Contains(out, "KV lost 0") {
		t.Fatalf("expected the storage profile: %v\n%s", err, out)
	}
	page, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(page), "profile storage") {
		t.Errorf("expected a page of it: %v", err)
	}
	calm, err := simCommandOf(t, "run", "--seed", "4", "--hours", "0.2", "--profile", "calm", "--json")
	if err != nil || !strings.Contains(calm, `"profile": "calm"`) || !strings.Contains(calm, `"commit"`) {
		t.Errorf("expected JSON of a calm run: %v\n%s", err, calm)
	}
}
