package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Pylance is the one release of pylance that the engine was measured against: its error texts and the way
// it commits are not promised by anybody.
const Pylance = "14.0.2"

// PythonEnv is the environment variable that names the Python to use.
const PythonEnv = "SLUICE_PYTHON"

// venvPython is where `make .venv` leaves a Python that has everything.
const venvPython = ".venv/bin/python"

// checkTime bounds the look at a Python.
const checkTime = 30 * time.Second

// FindPython returns the absolute path of a Python ≥ 3.11 that has the pinned pylance. explicit (from a
// flag) or $SLUICE_PYTHON settle the matter; else it is the first .venv/bin/python in the directories above
// the working directory and above this binary, else python3 of $PATH. What is found first must fit: the error is a
// [core.Failure] with [core.CodeEngineMissing] that says what was found, what is needed and what to do.
func FindPython(ctx context.Context, explicit string) (string, error) {
	if explicit == "" {
		explicit = os.Getenv(PythonEnv)
	}
	python, err := locate(explicit)
	if err != nil {
		return "", err
	}
	return python, checkPython(ctx, python)
}

func locate(explicit string) (string, error) {
	if explicit != "" {
		path, err := exec.LookPath(explicit)
		if err != nil {
			return "", missing("no Python at %s: %v", explicit, err)
		}
		return filepath.Abs(path)
	}
	for _, start := range []func() (string, error){os.Getwd, os.Executable} {
		dir, err := start()
		if err != nil {
			continue
		}
		for ; ; dir = filepath.Dir(dir) {
			if path := filepath.Join(dir, venvPython); isFile(path) {
				return path, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", missing("no Python found: no %s above the working directory, no python3 in PATH", venvPython)
	}
	return filepath.Abs(path)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// checkScript prints the versions without importing lance, which takes ten times as long.
const checkScript = `import sys, importlib.metadata as m
try: v = m.version("pylance")
except m.PackageNotFoundError: v = "none"
print("%d.%d" % sys.version_info[:2], int(sys.version_info >= (3, 11)), v)`

func checkPython(ctx context.Context, python string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-B", "-c", checkScript)
	cmd.Env = environment(os.TempDir(), 0)
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("check Python %s: %w", python, ctx.Err())
		}
		return missing("%s is no working Python: %v %s", python, err, stderr.String())
	}
	said := strings.Fields(string(bytes.TrimSpace(out)))
	switch {
	case len(said) != 3:
		return missing("%s is no working Python: it answers %q", python, out)
	case said[1] != "1":
		return missing("%s is Python %s, 3.11 or newer needed", python, said[0])
	case said[2] == "none":
		return missing("%s has no pylance, %s needed", python, Pylance)
	case said[2] != Pylance:
		return missing("pylance %s found in %s, %s needed", said[2], python, Pylance)
	}
	return nil
}

// missing says what is wrong with the Python and what to do about it.
func missing(format string, args ...any) error {
	return core.Failure{
		Code:   core.CodeEngineMissing,
		Detail: fmt.Sprintf(format, args...) + ": run make .venv, or set " + PythonEnv,
	}
}

// IsMissing reports whether the error says that no fitting Python was found.
func IsMissing(err error) bool {
	var f core.Failure
	return errors.As(err, &f) && f.Code == core.CodeEngineMissing
}
