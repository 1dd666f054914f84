package main_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/certtest"
	"github.com/sluice-data/sluice/adapters/rest"
)

// No tokens: masters, workers and the operator know each other by certificates, and programs reach the gate by
// TLS. The engines have their own way to it.
func TestAFleetWithCertificatesMergesAndKeepsOthersOut(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	secured := func(organizations ...string) []string {
		p := ca.Issue(t, organizations...)
		return []string{"--tls-cert", p.Cert, "--tls-key", p.Key, "--tls-ca", ca.File}
	}
	caller := func(organization string) rest.Caller {
		return rest.NewCaller("", &tls.Config{RootCAs: ca.Pool, Certificates: []tls.Certificate{ca.Issue(t, organization).TLS}})
	}
	f := newFleet(t)
	m, w := f.master(secured("sluice:fleet")...), f.worker("w1", secured("sluice:fleet")...)
	if report := decode[struct{ HTTP, Gate string }](t, w.report); !strings.HasPrefix(report.HTTP, "https://") || !strings.HasPrefix(report.Gate, "https://") {
		t.Errorf("the worker is at %+v", report)
	}
	m.api.Caller = caller("sluice:reader")
	if _, err := m.api.Merge(t.Context(), "db/events", false); err == nil || !strings.Contains(err.Error(), "takes the role operator") {
		t.Errorf("a reader asks for a merge: %v", err)
	}
	m.api.Caller = rest.NewCaller("", &tls.Config{RootCAs: ca.Pool})
	if _, err := m.api.Target(t.Context(), "db/events"); err == nil || !strings.Contains(err.Error(), "show a token") {
		t.Errorf("somebody without a certificate looks: %v", err)
	}
	m.api.Caller = caller("sluice:operator")
	f.ask(m)
	f.waitMerged(m)
	for _, p := range []*running{m, w} {
		p.signal(unix.SIGTERM)
		p.wantEnd(0, 40*time.Second)
	}
	o := sluice(t, append([]string{"worker", "--lake", f.lake, "--kv", "etcd:127.0.0.1:1"}, secured("some company")...)...)
	o.want(t, 2, "is not of the organization sluice:fleet")
}
