package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/rest"
)

// running is a `sluice dev`, master or worker that has said what it has to say.
type running struct {
	t      testing.TB
	cmd    *exec.Cmd
	report string // what it printed at its start
	api    rest.Client
	ended  chan struct{} // closed once it has ended

	mu  sync.Mutex
	log strings.Builder
	// grown is told of each line of the log.
	grown chan struct{}
}

// startDev starts `sluice dev` on a lake and waits for its report.
func startDev(t testing.TB, lake string, args ...string) *running {
	t.Helper()
	d := startProcess(t, nil, append([]string{"dev", "--lake", lake}, args...)...)
	var p struct{ HTTP string }
	body, err := os.ReadFile(filepath.Join(lake, "_sluice/process.json"))
	if err != nil {
		t.Fatalf("dev has not started: %s%s", d.report, d.logged())
	}
	must(t, json.Unmarshal(body, &p))
	d.api = rest.Client{URL: p.HTTP}
	return d
}

// startProcess starts a process that goes on and waits for its report.
func startProcess(t testing.TB, env []string, args ...string) *running {
	t.Helper()
	d := &running{t: t, ended: make(chan struct{}), grown: make(chan struct{}, 1)}
	d.cmd = command(context.WithoutCancel(t.Context()), env, args...)
	stdout, err := d.cmd.StdoutPipe()
	must(t, err)
	stderr, err := d.cmd.StderrPipe()
	must(t, err)
	must(t, d.cmd.Start())
	t.Cleanup(d.kill)
	said := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() { d.follow(stderr) })
	reading.Go(func() { said <- report(stdout) })
	go func() {
		reading.Wait()
		_ = d.cmd.Wait() // the exit code is in ProcessState
		close(d.ended)
	}()
	select {
	case d.report = <-said:
	case <-time.After(40 * time.Second):
		t.Fatalf("%s says nothing; its log: %s", args[0], d.logged())
	}
	return d
}

// report reads up to the last line of the text, or one JSON value, and then discards what follows.
func report(r io.Reader) string {
	var b strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		b.WriteString(lines.Text() + "\n")
		if lines.Text() == "Ctrl-C stops." || lines.Text() == "}" && strings.HasPrefix(b.String(), "{") {
			break
		}
	}
	return b.String()
}

func (d *running) follow(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		d.mu.Lock()
		d.log.WriteString(lines.Text() + "\n")
		d.mu.Unlock()
		select {
		case d.grown <- struct{}{}:
		default:
		}
	}
}

func (d *running) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// waitLog waits until the log has the words.
func (d *running) waitLog(words string) {
	d.t.Helper()
	limit := time.After(40 * time.Second)
	for !strings.Contains(d.logged(), words) {
		select {
		case <-d.grown:
		case <-limit:
			d.t.Fatalf("expected %q in the log: %s", words, d.logged())
		}
	}
}

func (d *running) signal(s os.Signal) {
	d.t.Helper()
	must(d.t, d.cmd.Process.Signal(s))
}

// wantEnd waits until it ends.
func (d *running) wantEnd(code int, within time.Duration) {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(within):
		d.t.Fatalf("dev did not end within %v: %s", within, d.logged())
	}
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		d.t.Errorf("expected exit code %d, got %d: %s", code, got, d.logged())
	}
}

func (d *running) stop() {
	d.t.Helper()
	d.signal(os.Interrupt)
	d.wantEnd(0, 40*time.Second)
}

func (d *running) kill() {
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Error(err)
	}
	<-d.ended
}

// engines are the processes that it has started, as file descriptors: they name no other process later.
func (d *running) engines() (engines []int) {
	d.t.Helper()
	entries, err := os.ReadDir("/proc")
	must(d.t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …, and the name may have spaces
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] == strconv.Itoa(d.cmd.Process.Pid) {
			fd, err := unix.PidfdOpen(pid, 0)
			must(d.t, err)
			d.t.Cleanup(func() { unix.Close(fd) })
			engines = append(engines, fd)
		}
	}
	return engines
}
