package doctor_test

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/certtest"
	"github.com/sluice-data/sluice/adapters/doctor"
	"github.com/sluice-data/sluice/adapters/rest"
)

func TestWhatAProcessShowsIsLookedAt(t *testing.T) {
	t.Parallel()
	ca, other := certtest.New(t), certtest.New(t)
	serving := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	of := func(p certtest.Pair) rest.Security { return rest.Security{Cert: p.Cert, Key: p.Key, CA: ca.File} }
	long := of(ca.IssueFor(t, serving, 900*time.Hour, "sluice:fleet"))
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "tokens")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		tokens, advertise string
		security          rest.Security
		check             string
		verdict           doctor.Verdict
		words             string
	}{
		"nothing":                            {"", "", rest.Security{}, "access", doctor.OK, "127.0.0.1 only"},
		"a certificate of the fleet":         {"", "https://localhost:8080", long, "certificate", doctor.OK, "trusted until"},
		"tokens alone":                       {file("fleet 0123456789abcdef\n"), "", rest.Security{}, "access", doctor.OK, "goes together"},
		"tokens that are too short":          {file("fleet CHANGE-ME\n"), "", rest.Security{}, "access", doctor.Failed, "at least 16"},
		"a certificate without a role":       {"", "", of(ca.Issue(t)), "access", doctor.Failed, "sluice:fleet"},
		"a certificate that ends soon":       {"", "", of(ca.IssueFor(t, serving, 24*time.Hour, "sluice:fleet")), "certificate", doctor.Warning, "24h0m0s more"},
		"a certificate that has ended":       {"", "", of(ca.IssueFor(t, serving, -time.Hour, "sluice:fleet")), "certificate", doctor.Failed, "was valid until"},
		"a certificate of another authority": {"", "", of(other.Issue(t, "sluice:fleet")), "certificate", doctor.Failed, "unknown authority"},
		"a certificate for another host":     {"", "https://worker-0.example.com:8080", long, "certificate", doctor.Failed, "worker-0.example.com"},
		"an address that is none":            {"", "worker-0:8080", long, "certificate", doctor.Failed, "no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examined(t, doctor.Access(c.tokens, c.security, c.advertise)), c.check, c.verdict, c.words)
		})
	}
}
