package main_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAMergeOnATerminalShowsABar(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	ours, theirs := terminal(t)
	c := command(t.Context(), nil, "merge", "--lake", lake, "db/events")
	var stdout strings.Builder
	c.Stdout, c.Stderr = &stdout, theirs
	must(t, c.Start())
	theirs.Close()
	seen, err := io.ReadAll(ours)
	if err != nil && !errors.Is(err, syscall.EIO) { // EIO is how the end of a terminal reads
		t.Fatal(err)
	}
	must(t, c.Wait())
	if !strings.Contains(string(seen), "[") || !strings.Contains(string(seen), "200 / 200 rows") {
		t.Errorf("expected a bar of 200 rows, got %q", seen)
	}
	if !strings.Contains(stdout.String(), "merged 5 generations") {
		t.Errorf("expected the result on stdout, got %q", stdout.String())
	}
	wantMerged(t, lake, "db/events")
}

func TestAnInterruptedMergeIsGoneOnWithByTheNext(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	c := command(t.Context(), nil, "merge", "--lake", lake, "db/events")
	stderr, err := c.StderrPipe()
	must(t, err)
	must(t, c.Start())
	first := make([]byte, 1)
	_, err = stderr.Read(first) // it says something once the merge has been asked for
	must(t, err)
	must(t, c.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(stderr)
	must(t, err)
	began := time.Now()
	_ = c.Wait() // the exit code tells
	if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(rest), "interrupted") || time.Since(began) > 20*time.Second {
		t.Errorf("expected it to say that it was interrupted, got exit code %d and %s", code, rest)
	}
	sluice(t, "merge", "--lake", lake, "db/events").want(t, 0)
	wantMerged(t, lake, "db/events")
}

// terminal opens a pseudo terminal: what the command writes to theirs is read from ours.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { ours.Close() })
	raw, err := ours.SyscallConn()
	must(t, err)
	var number int
	must(t, raw.Control(func(fd uintptr) {
		must(t, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
		must(t, unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 120}))
		number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	}))
	must(t, err)
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	return ours, theirs
}
