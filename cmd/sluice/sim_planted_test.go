//go:build planted

package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/guard"
	"github.com/sluice-data/sluice/sim"
)

// Each way in which a run can fail has an exit code of its own, and a story that can be read: it ends with what is
// broken, and its trace fails again in the same way. The failures are real ones, of planted mistakes.
func TestPlantedFailuresHaveExitCodesAndStories(t *testing.T) {
	t.Chdir(t.TempDir())
	for mistake, want := range map[string]struct {
		args []string
		code int
		says string
	}{
		"fence-one-short":      {[]string{"--seeds", "1..60"}, 3, "invariant"},
		"failed-is-absent":     {[]string{"--seeds", "1..60"}, 3, "invariant"},
		"canary":               {[]string{"--seed", "1", "--hours", "0.1"}, 3, "the canary is dead"},
		"drain-drops-recovery": {[]string{"--seeds", "1..90"}, 4, "not everything is merged"},
	} {
		guard.SetOut(guard.Name(mistake))
		trace := filepath.Join(t.TempDir(), "trace.jsonl")
		out, err := simCommandOf(t, append([]string{"run", "--parallel", "1", "--trace", trace, "--html", trace + ".html"}, want.args...)...)
		if code := codeOf(err); code != want.code || !strings.Contains(out, want.says) || !clocked.MatchString(out) {
			t.Errorf("%s: exit code %d, expected %d with %q in\n%s", mistake, code, want.code, want.says, out)
		}
		if again, err := simCommandOf(t, "replay", trace); codeOf(err) != want.code || strings.Contains(again, "NB:") {
			t.Errorf("%s: the trace does not fail in the same way: %v", mistake, err)
		}
		if page, err := os.ReadFile(trace + ".html"); err != nil || !strings.Contains(string(page), want.says) {
			t.Errorf("%s: the page does not say what is broken: %v", mistake, err)
		}
		guard.SetOut("")
	}
}

// clocked is a line of a story.
var clocked = regexp.MustCompile(`(?m)^\d+:\d\d:\d\d\.\d{3}  (m|w|lake|---)`)

func codeOf(err error) int {
	var failed *verdictError
	if errors.As(err, &failed) {
		return exit(failed.verdict)
	}
	return exit(sim.Clean)
}
