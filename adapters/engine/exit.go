package engine

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/sluice-data/sluice/core"
)

// exit is what is known about a process that ended.
type exit struct {
	// answer is its last message: Done, failed or nil.
	answer any
	// fault is set when it broke the wire's rules, and was killed for it.
	fault  error
	status syscall.WaitStatus
	// stopped says that we ended it on purpose.
	stopped bool
	// oomKilled says that the kernel killed something of our cgroup for memory while it ran.
	oomKilled bool
	stderr    string
}

// judge turns an end into the last event. What the process said counts first, then that we stopped it,
// then its exit status and signal.
func (x exit) judge() Event {
	switch a := x.answer.(type) {
	case Done:
		return a
	case failed:
		return Failed{a.failure()}
	}
	fail := func(code core.Code, format string, args ...any) Event {
		detail := fmt.Sprintf(format, args...)
		if x.stderr != "" {
			detail += ": " + x.stderr
		}
		return Failed{core.Failure{Code: code, Detail: detail}}
	}
	signalled := x.status.Signaled()
	switch {
	case x.stopped:
		return Failed{core.Failure{Code: core.CodeCancelled, Detail: "the engine was stopped"}}
	case x.fault != nil:
		return fail(core.CodeEngineUnknown, "the engine was killed because it broke the wire's rules: %v", x.fault)
	case !signalled && outOfPythonMemory(x.stderr), signalled && x.status.Signal() == syscall.SIGABRT && outOfMemory(x.stderr):
		return fail(core.CodeEngineOOM, "the engine reached its memory limit")
	case signalled && x.status.Signal() == syscall.SIGKILL && x.oomKilled:
		return fail(core.CodeEngineOOM, "the kernel killed the engine for memory")
	case signalled && x.status.Signal() == syscall.SIGABRT:
		return fail(core.CodeEngineUnknown, "the engine aborted")
	case signalled:
		return fail(core.CodeEngineKilled, "signal %s ended the engine", x.status.Signal())
	}
	return fail(core.CodeEngineUnknown, "the engine exited with status %d and no answer", x.status.ExitStatus())
}

// outOfMemory knows the words of Rust's allocator, which aborts: "memory allocation of N bytes failed".
func outOfMemory(stderr string) bool {
	_, rest, found := strings.Cut(stderr, "memory allocation of ")
	return found && strings.Contains(rest, " bytes failed")
}

// outOfPythonMemory knows the last line of a traceback where there was no memory left even for an answer.
func outOfPythonMemory(stderr string) bool {
	last := stderr[strings.LastIndexByte(stderr, '\n')+1:]
	return strings.HasPrefix(last, "MemoryError")
}

// oomKills counts the processes of our cgroup that the kernel killed for memory; -1 where there is no
// cgroup v2 memory controller.
func oomKills() int64 {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return -1
	}
	_, rest, found := strings.Cut("\n"+string(own), "\n0::")
	if !found {
		return -1
	}
	group, _, _ := strings.Cut(rest, "\n")
	events, err := os.ReadFile(path.Join("/sys/fs/cgroup", group, "memory.events"))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(events)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			if err == nil {
				return kills
			}
		}
	}
	return -1
}
