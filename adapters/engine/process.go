package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/core"
)

const (
	// eventRoom is the length of a process's event queue, progressRoom how much of it may be progress: a
	// plan and the last event always find room, so that nobody who forgets to read stalls an engine.
	eventRoom, progressRoom = 16, 10
	// maxPlans is how often an engine may try to publish its pass; merge.py gives up as soon.
	maxPlans = 5
	// maxLine bounds one line of an engine's stdout.
	maxLine = 64 << 10
	// afterAnswer is how long a process may take to exit once it has given its answer.
	afterAnswer = 2 * time.Second
)

// Process is one engine process that was given a job.
//
// Its events end with exactly one [Done] or [Failed], whatever happens to it, and then the channel is
// closed; by then the process is gone and reaped, as is its group.
type Process struct {
	cmd    *exec.Cmd
	home   string
	stdin  io.WriteCloser
	stderr tail
	oom    int64

	ready  chan struct{} // closed by the first message
	events chan Event
	gone   chan struct{} // closed after the last event
	last   Event         // set before gone is closed

	mu      sync.Mutex
	reaped  bool // its pid and group id may belong to somebody else
	stopped bool
}

// spawn starts a process that stands by. Its home is a new directory under root.
func spawn(cfg Config, root string, from *parent) (*Process, error) {
	home, err := os.MkdirTemp(root, "home-")
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	p := &Process{
		home: home, oom: oomKills(),
		ready: make(chan struct{}), gone: make(chan struct{}), events: make(chan Event, eventRoom),
	}
	// No request's context: the process is stopped by Stop, by Close, or by the death of the worker.
	limit := strconv.FormatInt(int64(cfg.MemoryLimit), 10)
	p.cmd = exec.CommandContext(context.Background(), cfg.Python, "-I", "-B", filepath.Join(root, "python"), limit)
	p.cmd.Dir = home
	p.cmd.Env = environment(home, cfg.Threads)
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = afterAnswer
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = from.start(p.cmd)
	}
	if err != nil {
		os.RemoveAll(home)
		return nil, fmt.Errorf("start engine %s: %w", cfg.Python, err)
	}
	go p.follow(stdout)
	return p, nil
}

// follow reads what the process says until it is gone.
func (p *Process) follow(stdout io.Reader) {
	defer close(p.gone)
	answer, fault := p.listen(stdout)
	if fault != nil {
		p.signal(syscall.SIGKILL)
	}
	late := time.AfterFunc(afterAnswer, func() { p.signal(syscall.SIGKILL) })
	defer late.Stop()
	p.waitUnreaped()
	p.mu.Lock()
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // what it may have left in its group
	p.reaped = true
	stopped := p.stopped
	p.mu.Unlock()
	p.cmd.Wait() //nolint:errcheck // its error says what the status says
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	x := exit{
		answer: answer, fault: fault, status: status, stopped: stopped,
		oomKilled: p.oom >= 0 && oomKills() > p.oom, stderr: p.stderr.String(),
	}
	os.RemoveAll(p.home)
	p.last = x.judge()
	p.events <- p.last
	close(p.events)
}

// listen passes on what the process says up to its answer, which it returns; nil if it closed its stdout
// without one. The error says which rule of the wire was broken.
func (p *Process) listen(stdout io.Reader) (answer any, err error) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	greeted, plans := false, 0
	for lines.Scan() {
		message, err := decode(lines.Bytes())
		if err != nil {
			return nil, err
		}
		switch m := message.(type) {
		case failed: // also in place of ready
			return m, nil
		case ready:
			if greeted {
				return nil, errors.New("ready came twice")
			}
			if m.Pylance != Pylance {
				p.signal(syscall.SIGKILL)
				return failed{Code: core.CodeEngineMissing, Message: fmt.Sprintf("pylance %s found, %s needed: run make .venv", m.Pylance, Pylance)}, nil
			}
			greeted = true
			close(p.ready)
		case Done:
			if plans == 0 {
				return nil, errors.New("done came before a plan")
			}
			return m, nil
		case Plan:
			if plans++; !greeted || plans > maxPlans {
				return nil, fmt.Errorf("plan %d came before ready, or is one too many", plans)
			}
			p.events <- m
		case Progress:
			// Counts are from the start: the next one, or the last event, makes up for one left out.
			if len(p.events) < progressRoom {
				p.events <- m
			}
		default:
			return nil, fmt.Errorf("%T is no message of an engine", m)
		}
	}
	return nil, lines.Err()
}

// waitUnreaped returns when the process has ended. It is a zombie then, so its pid is still its own.
func (p *Process) waitUnreaped() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

func (p *Process) send(message any) error {
	line, err := encode(message)
	if err != nil {
		return err
	}
	if _, err := p.stdin.Write(line); err != nil {
		return fmt.Errorf("send %s to engine process %d: %w", typeOf(message), p.PID(), err)
	}
	return nil
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Events are what the engine reports. The queue is bounded; [Progress] that finds it full is left out.
func (p *Process) Events() <-chan Event { return p.events }

// Go lets the engine commit. Call it once after each [Plan], when the gate knows the plan.
func (p *Process) Go() error { return p.send(proceed{}) }

// Stop ends the process: SIGTERM to its group, SIGKILL after the grace (at once if that is zero). It returns
// when the process is gone. If it gave no answer before, its last event is [core.CodeCancelled].
func (p *Process) Stop(grace time.Duration) {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	if grace > 0 {
		p.signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.gone:
			return
		case <-timer.C:
		}
	}
	p.signal(syscall.SIGKILL)
	<-p.gone
}

// Wait returns the last event, [Done] or [Failed], when the process is gone. It doesn't need Events to be read.
func (p *Process) Wait() Event {
	<-p.gone
	return p.last
}
