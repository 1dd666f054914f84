package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
)

// It changes the environment, so nothing runs beside it.
func TestAProgramRunsAsAnEngineDoes(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "the worker's own")
	python, err := engine.FindPython(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Alone(t.Context(), python, 1<<30, `import os
print(*sorted(os.environ), resource.getrlimit(resource.RLIMIT_DATA)[0], sys.argv[1:], os.listdir(os.environ["HOME"]))`, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "AWS_ACCESS_KEY_ID") || !strings.Contains(out, "AWS_EC2_METADATA_DISABLED") || !strings.Contains(out, "1073741824 ['a', 'b'] []") {
		t.Errorf("it sees %s", out)
	}
	if _, err := engine.Alone(t.Context(), python, 0, `sys.exit("its last words")`); err == nil || !strings.Contains(err.Error(), "its last words") {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := engine.Alone(ctx, python, 0, `sys.stdin = None
import signal
signal.pause()`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program that doesn't end: %v", err)
	}
}
