package gate_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/certtest"
	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/core"
)

func TestAGateWithACertificateSpeaksTLSToProgramsAndNoneToEngines(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	w := newWorld(t, setup{tls: &tls.Config{Certificates: []tls.Certificate{ca.Issue(t).TLS}}})
	body := strings.Repeat("0123456789", 1<<18)
	client := wireTo(w.URL(), ca.Pool, w.client)
	if got := client.put(t, "db/new.lance/data/x", body); got != 200 {
		t.Errorf("a put through TLS: %d", got)
	}
	if got, status := client.get(t, "db/new.lance/data/x"); status != 200 || got != body {
		t.Errorf("a get through TLS: %d, %d bytes", status, len(got))
	}
	options := w.StorageOptions(w.client)
	if options["aws_endpoint"] != w.URL() || !strings.HasPrefix(w.URL(), "https://127.0.0.1:") || options["allow_http"] != "" {
		t.Errorf("a program is told %v", options)
	}
	for name, wrong := range map[string]*wire{
		"without TLS":                 wireTo("http://"+w.Addr(), nil, w.client),
		"with another authority":      wireTo(w.URL(), certtest.New(t).Pool, w.client),
		"with a credential of nobody": wireTo(w.URL(), ca.Pool, gate.Credential{AccessKey: "NOBODY", SecretKey: "nothing"}),
	} {
		if err := wrong.tryNew(t.Context(), "db/new.lance/data/y", []byte("y")); err == nil {
			t.Errorf("%s: a put got through", name)
		}
	}

	cred := w.GrantExecution(core.Execution{ID: "e1", Target: "db/new"})
	engine := w.StorageOptions(cred)
	if !strings.HasPrefix(engine["aws_endpoint"], "http://127.0.0.1:") || engine["allow_http"] != "true" {
		t.Errorf("an engine is told %v", engine)
	}
	if got, status := wireTo(engine["aws_endpoint"], nil, cred).get(t, "db/new.lance/data/x"); status != 200 || got != body {
		t.Errorf("an engine reads: %d, %d bytes", status, len(got))
	}
}

func TestClientsThatSayNothingKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	w := newWorld(t, setup{tls: &tls.Config{Certificates: []tls.Certificate{ca.Issue(t).TLS}}})
	for range 20 {
		silent, err := net.Dial("tcp", w.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { silent.Close() })
	}
	if got := wireTo(w.URL(), ca.Pool, w.client).put(t, "db/new.lance/data/x", "x"); got != 200 {
		t.Errorf("a put beside silent clients: %d", got)
	}
	begun := time.Now()
	if err := w.Close(); err != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("the gate closes after %v: %v", time.Since(begun), err)
	}
}

func TestASecurePortInUseIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	ca := certtest.New(t)
	_, err := gate.Start(t.Context(), gate.Config{
		Lake: w.lake, Authority: w.authority, Address: w.Addr(), Scratch: t.TempDir(),
		TLS: &tls.Config{Certificates: []tls.Certificate{ca.Issue(t).TLS}},
	})
	if err == nil || !strings.Contains(err.Error(), w.Addr()+": the port is in use") {
		t.Errorf("a second gate on %s: %v", w.Addr(), err)
	}
}
