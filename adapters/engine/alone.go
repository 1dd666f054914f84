package engine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/sluice-data/sluice/core"
)

// limited bounds the memory of the program that follows it, as the engine bounds its own.
const limited = `import resource, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
`

// Alone runs a small Python program as an engine process is run, with its environment, its memory limit
// ([DefaultMemory] for 0) and an empty home, and returns what it prints: so one can look at the world with an
// engine's eyes. The error has the end of what it said on stderr.
func Alone(ctx context.Context, python string, memory core.Bytes, program string, args ...string) (string, error) {
	cfg := Config{Python: python, MemoryLimit: memory}
	if err := cfg.Validate(); err != nil {
		return "", err
	}
	cfg = cfg.withDefaults()
	home, err := os.MkdirTemp("", "sluice-alone-")
	if err != nil {
		return "", fmt.Errorf("run %s: %w", python, err)
	}
	defer os.RemoveAll(home)
	all := append([]string{"-I", "-B", "-c", limited + program, strconv.FormatInt(int64(cfg.MemoryLimit), 10)}, args...)
	cmd := exec.CommandContext(ctx, python, all...)
	cmd.Dir, cmd.Env = home, environment(home, cfg.Threads)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = afterAnswer
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w: %s", python, err, stderr.String())
	}
	return string(out), nil
}
