package gate

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Why a held request ends.
var (
	errHungUp      = errors.New("the sender has hung up")
	errHeldTooLong = errors.New("the limit on holding a request ran out")
	errClosing     = errors.New("the gate is closing")
)

// hangUpPoll is how often the connection of a held request is looked at. The decision to forward looks
// once more by itself.
const hangUpPoll = 100 * time.Millisecond

// sender is who waits for the answer to one request.
//
// NB: the library's request context does not end when the client hangs up, so the connection is looked at.
type sender struct {
	conn  syscall.Conn
	grant *grant
}

// senderOf finds the request's connection. One that can't be looked at counts as present.
func senderOf(ctx context.Context, g *grant) sender {
	s := sender{grant: g}
	if r, ok := ctx.(interface{ Conn() net.Conn }); ok {
		s.conn, _ = r.Conn().(syscall.Conn)
	}
	return s
}

// hold returns a context that ends when the request must no longer go on: at the limit, when its sender
// hangs up, when its credential is revoked, or when the gate closes. context.Cause says which. done ends
// the watch and must be called before the request's handler returns.
func (s sender) hold(request context.Context, limit time.Duration) (held context.Context, done func()) {
	timed, cancelTimed := context.WithTimeoutCause(context.WithoutCancel(request), limit, errHeldTooLong)
	held, cancel := context.WithCancelCause(timed)
	finished, watching := make(chan struct{}), make(chan struct{})
	revoked := s.grant.ctx.Done()
	if guard.Out(guard.HoldRevoked) {
		revoked = nil
	}
	go func() {
		defer close(watching)
		tick := time.NewTicker(hangUpPoll)
		defer tick.Stop()
		for {
			select {
			case <-finished:
				return
			case <-revoked:
				cancel(errRevoked)
				return
			case <-request.Done():
				cancel(errClosing)
				return
			case <-tick.C:
				if s.hungUp() {
					cancel(errHungUp)
					return
				}
			}
		}
	}()
	return held, func() {
		close(finished)
		<-watching
		cancel(context.Canceled)
		cancelTimed()
	}
}

// gone says why a request must not be forwarded now, nil if it may be.
func (s sender) gone(held context.Context) error {
	switch {
	case s.grant.ctx.Err() != nil && !guard.Out(guard.HoldRevoked):
		return errRevoked
	case s.hungUp():
		return errHungUp
	case held.Err() != nil:
		return context.Cause(held)
	}
	return nil
}

// hungUp looks at the connection without taking anything from it: an end of stream or an error is a
// sender that is gone. The request's body has been read by then, so anything that can be read is the
// next request of a sender that is there.
func (s sender) hungUp() bool {
	if s.conn == nil || guard.Out(guard.HoldHungUp) {
		return false
	}
	raw, err := s.conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EAGAIN, err == syscall.EWOULDBLOCK, err == syscall.EINTR:
		case err != nil, n == 0:
			gone = true
		}
	})
	return gone || err != nil
}
