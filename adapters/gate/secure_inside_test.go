package gate

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/certtest"
)

// A held request is dropped when its sender hangs up: so whichever side ends, the other does at once.
func TestBothSidesOfASecureConnectionEndTogether(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	behind, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { behind.Close() })
	s, err := newSecure(t.Context(), "127.0.0.1:0", behind.Addr().String(), &tls.Config{Certificates: []tls.Certificate{ca.Issue(t).TLS}})
	if err != nil {
		t.Fatal(err)
	}
	pair := func() (client *tls.Conn, gate net.Conn) {
		client, err := tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{RootCAs: ca.Pool})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		if _, err := client.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if gate, err = behind.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { gate.Close() })
		got := make([]byte, 5)
		if _, err := io.ReadFull(gate, got); err != nil || string(got) != "hello" {
			t.Fatalf("behind the door came %q, %v", got, err)
		}
		return client, gate
	}
	ended := func(what string, c net.Conn) {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		var timeout net.Error
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s goes on: %v", what, err)
		}
	}
	client, gate := pair()
	client.NetConn().Close() // as a process that was killed
	ended("the gate's side", gate)
	client, gate = pair()
	gate.Close()
	ended("the client's side", client)
	client, gate = pair()
	if err := s.close(); err != nil {
		t.Error(err)
	}
	ended("the gate's side of a closed door", gate)
	ended("the client's side of a closed door", client)
}
