package engine

import (
	"os/exec"
	"runtime"
)

// parent starts processes from one OS thread that lives until Close.
//
// The kernel sends a parent-death signal when the *thread* that forked ends, not when the process does, and
// Go ends threads as it likes. So one goroutine owns a thread and makes all starts.
type parent struct {
	starts chan start
	closed chan struct{}
}

type start struct {
	cmd *exec.Cmd
	err chan error
}

func newParent() *parent {
	p := &parent{starts: make(chan start), closed: make(chan struct{})}
	go p.run()
	return p
}

func (p *parent) run() {
	defer close(p.closed)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for s := range p.starts {
		s.err <- s.cmd.Start()
	}
}

func (p *parent) start(cmd *exec.Cmd) error {
	s := start{cmd, make(chan error, 1)}
	p.starts <- s
	return <-s.err
}

// close kills what is still running and returns when the thread is gone.
func (p *parent) close() {
	close(p.starts)
	<-p.closed
}
