// Package enginetest makes engines that misbehave as a machine can make them.
package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Survivor is an interpreter whose processes outlive their worker: a session of their own, and a stdin that
// nobody closes.
type Survivor struct {
	// Python is its path, for whoever starts engines.
	Python string
	pids   string
}

// NewSurvivor wraps a real interpreter.
func NewSurvivor(t testing.TB, python string) Survivor {
	t.Helper()
	dir := t.TempDir()
	s := Survivor{Python: filepath.Join(dir, "python"), pids: filepath.Join(dir, "pids")}
	script := fmt.Sprintf(`#!/bin/sh
if [ "$3" = -c ]; then exec %[2]s "$@"; fi
exec 3<&0
mkfifo %[1]s/in.$$
exec 4<>%[1]s/in.$$
cat <&3 >&4 &
setsid %[2]s "$@" <&4 &
echo $! >> %[3]s
wait $!
`, dir, python, s.pids)
	if err := os.WriteFile(s.Python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// First is the first engine that was started. It is killed at the end of the test.
func (s Survivor) First(t testing.TB) int {
	t.Helper()
	list, err := os.ReadFile(s.pids)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(list), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) }) // it may have ended
	return pid
}

// Gone reports whether a process has ended; a zombie has.
func Gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}
