package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/engine"
)

func TestAPythonThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script string
		words  string
	}{
		{"too old", "echo 3.10 0 14.0.2", "is Python 3.10, 3.11 or newer needed"},
		{"without pylance", "echo 3.12 1 none", "has no pylance, 14.0.2 needed"},
		{"another pylance", "echo 3.12 1 13.0.0", "pylance 13.0.0 found"},
		{"no Python at all", "echo hello", `answers "hello\n"`},
		{"broken", "echo broken >&2; exit 1", "is no working Python: exit status 1 broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := engine.FindPython(t.Context(), fake(t, c.script))
			if !engine.IsMissing(err) || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), "run make .venv") {
				t.Errorf("error %v, want E_ENGINE_MISSING with %q and what to do", err, c.words)
			}
		})
	}
	if _, err := engine.FindPython(t.Context(), filepath.Join(t.TempDir(), "none")); !engine.IsMissing(err) {
		t.Errorf("error %v, want E_ENGINE_MISSING", err)
	}
}

// It changes the working directory and the environment, so nothing runs beside it.
func TestPythonIsLookedForUpwards(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	want := filepath.Join(root, ".venv", "bin", "python")
	for _, dir := range []string{deep, filepath.Dir(want)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(fake(t, "echo 3.11 1 "+engine.Pylance), want); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	t.Setenv(engine.PythonEnv, "")
	got, err := engine.FindPython(t.Context(), "")
	if err != nil || got != want {
		t.Errorf("found %q %v, want %q", got, err, want)
	}
	other := fake(t, "echo 3.11 1 "+engine.Pylance)
	t.Setenv(engine.PythonEnv, other)
	if got, err = engine.FindPython(t.Context(), ""); err != nil || got != other {
		t.Errorf("found %q %v, want %q from the environment", got, err, other)
	}
}
