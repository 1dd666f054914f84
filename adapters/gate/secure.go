package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// secure is the door of a gate with a certificate. It takes the TLS off and hands every byte on to the gate's
// own port of the loopback, which engines use without it.
//
// (The design that was rejected: let the library serve TLS. A held request looks at its connection to see
// whether the sender has hung up, and a connection under TLS shows nothing. Here the one behind the door ends
// with the one before it, and the gate sees that.)
type secure struct {
	listener net.Listener
	to       string
	stop     context.CancelFunc
	open     sync.WaitGroup
}

// shakeLimit bounds a handshake, so that nobody holds a connection by saying nothing.
const shakeLimit = 10 * time.Second

// newSecure listens on the address and serves until close.
func newSecure(ctx context.Context, address, to string, cfg *tls.Config) (*secure, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the gate can't listen on %s: the port is in use; stop the other program or choose another port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("the gate can't listen on %s: %w", address, err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &secure{listener: tls.NewListener(l, cfg), to: to, stop: stop}
	s.open.Go(func() { s.accept(life) })
	return s, nil
}

func (s *secure) accept(life context.Context) {
	slots := make(chan struct{}, maxConnections)
	for {
		client, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // out of files, in all likelihood
			case <-life.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		slots <- struct{}{}
		s.open.Go(func() {
			defer func() { <-slots }()
			s.serve(life, client.(*tls.Conn))
		})
	}
}

// serve hands one connection on until either side ends, or the gate does; then both end.
func (s *secure) serve(life context.Context, client *tls.Conn) {
	ctx, end := context.WithCancel(life)
	defer end()
	defer client.Close() // whoever hangs up first, hangs up both
	shake, cancel := context.WithTimeout(ctx, shakeLimit)
	err := client.HandshakeContext(shake)
	cancel()
	if err != nil {
		return // the client is told by TLS itself
	}
	gate, err := (&net.Dialer{Timeout: shakeLimit}).DialContext(ctx, "tcp", s.to)
	if err != nil {
		return
	}
	defer gate.Close()
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{gate, client}, {client, gate}} {
		ways.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // however it ends
			if !guard.Out(guard.GateEndsTogether) {
				end()
			}
		})
	}
	<-ctx.Done()
	_ = client.NetConn().Close() // not TLS's own close, which would wait for a client that reads nothing
	_ = gate.Close()
	ways.Wait()
}

func (s *secure) close() error {
	err := s.listener.Close()
	s.stop()
	s.open.Wait()
	return err
}
