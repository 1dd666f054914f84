package rest_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/certtest"
	"github.com/sluice-data/sluice/adapters/rest"
)

const tokenText = "fleet 0123456789abcdef-fleet\nreader 0123456789abcdef-reader\n"

func tokens(t *testing.T) rest.Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(tokenText), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := rest.ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// guarded is a server that says yes to everybody who gets through.
func guarded(t *testing.T, s rest.Security) string {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := s.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server.URL()
}

// asked is the status of a request; 0 if there was no answer.
func asked(t *testing.T, show *tls.Config, token, method, url string) int {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: show, DisableKeepAlives: true}}
	a, err := client.Do(q)
	if err != nil {
		t.Logf("no answer: %v", err)
		return 0
	}
	a.Body.Close()
	return a.StatusCode
}

func TestACertificateShowsARole(t *testing.T) {
	t.Parallel()
	ca, other := certtest.New(t), certtest.New(t)
	own := ca.Issue(t, "sluice:fleet")
	certificates := rest.Security{Cert: own.Cert, Key: own.Key, CA: ca.File}
	both := certificates
	both.Tokens = tokens(t)
	alone, beside := guarded(t, certificates), guarded(t, both)
	show := func(p ...certtest.Pair) *tls.Config {
		cfg := &tls.Config{RootCAs: ca.Pool}
		for _, one := range p {
			cfg.Certificates = append(cfg.Certificates, one.TLS)
		}
		return cfg
	}
	// What a caller gets for health, a look, a change, and what masters ask of workers.
	asks := []struct{ method, path string }{
		{"GET", "/healthz"}, {"GET", "/api/v1/targets"}, {"POST", "/api/v1/merge"}, {"POST", "/api/v1/internal/merge-executor/start"},
	}
	for name, c := range map[string]struct {
		url   string
		show  *tls.Config
		token string
		want  [4]int
	}{
		"nothing":                        {alone, show(), "", [4]int{200, 401, 401, 401}},
		"a certificate without a role":   {alone, show(ca.Issue(t, "some company")), "", [4]int{200, 401, 401, 401}},
		"a certificate of an empty role": {alone, show(ca.Issue(t, "sluice:")), "", [4]int{200, 401, 401, 401}},
		"a reader's":                     {alone, show(ca.Issue(t, "sluice:reader")), "", [4]int{200, 200, 403, 403}},
		"an operator's":                  {alone, show(ca.Issue(t, "some company", "sluice:operator")), "", [4]int{200, 200, 200, 403}},
		"the fleet's":                    {alone, show(ca.Issue(t, "sluice:reader", "sluice:fleet")), "", [4]int{200, 200, 200, 200}},
		"the fleet's of another":         {alone, show(other.Issue(t, "sluice:fleet")), "", [4]int{0, 0, 0, 0}},
		"a token where there are none":   {alone, show(), "0123456789abcdef-fleet", [4]int{200, 401, 401, 401}},
		"a token beside certificates":    {beside, show(), "0123456789abcdef-fleet", [4]int{200, 200, 200, 200}},
		"a reader's with a fleet token":  {beside, show(ca.Issue(t, "sluice:reader")), "0123456789abcdef-fleet", [4]int{200, 200, 200, 200}},
		"an operator's, a reader's too":  {beside, show(ca.Issue(t, "sluice:operator")), "0123456789abcdef-reader", [4]int{200, 200, 200, 403}},
		"an operator's, a wrong token":   {beside, show(ca.Issue(t, "sluice:operator")), "0123456789abcdef-nobody", [4]int{200, 200, 200, 403}},
	} {
		for i, ask := range asks {
			if got := asked(t, c.show, c.token, ask.method, c.url+ask.path); got != c.want[i] {
				t.Errorf("with %s: %s %s is answered %d, expected %d", name, ask.method, ask.path, got, c.want[i])
			}
		}
	}
}

// A fleet without tokens: its processes know each other by their certificates alone.
func TestAProcessShowsItsOwnCertificate(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	own, peer := ca.Issue(t, "sluice:fleet"), ca.Issue(t, "sluice:fleet")
	url := guarded(t, rest.Security{Cert: own.Cert, Key: own.Key, CA: ca.File})
	caller, err := rest.Security{Cert: peer.Cert, Key: peer.Key, CA: ca.File}.Caller(rest.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (rest.Client{URL: url, Caller: caller}).Target(t.Context(), "db"); err == nil || strings.Contains(err.Error(), "401") {
		t.Errorf("the server answers with nothing, and the caller sees %v", err)
	}
}

// A certificate that is for servers only would end the connection of a caller that shows it: a token does.
func TestACertificateThatShowsNothingIsNotShown(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	serving := ca.IssueFor(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, time.Hour, "sluice:fleet")
	s := rest.Security{Cert: serving.Cert, Key: serving.Key, CA: ca.File, Tokens: tokens(t)}
	caller, err := s.Caller(rest.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rest.Client{URL: guarded(t, s), Caller: caller}.Target(t.Context(), "db")
	if err == nil || strings.Contains(err.Error(), "tls") || strings.Contains(err.Error(), "401") {
		t.Errorf("the server answers with nothing, and the caller sees %v", err)
	}
	s.Tokens = rest.Tokens{}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "for servers and clients") {
		t.Errorf("without tokens: %v", err)
	}
}

func TestSecurityThatDoesNotGoTogetherIsRefused(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	fleet, nobody := ca.Issue(t, "sluice:fleet"), ca.Issue(t)
	for name, c := range map[string]struct {
		security rest.Security
		words    string
	}{
		"a key without a certificate":            {rest.Security{Key: fleet.Key}, "go together"},
		"TLS that lets everybody in":             {rest.Security{Cert: fleet.Cert, Key: fleet.Key}, "lets everybody in"},
		"an authority without a certificate":     {rest.Security{CA: ca.File, Tokens: tokens(t)}, "give this process's own too"},
		"a process that nobody takes for one":    {rest.Security{Cert: nobody.Cert, Key: nobody.Key, CA: ca.File}, "sluice:fleet"},
		"another one's key":                      {rest.Security{Cert: fleet.Cert, Key: nobody.Key, CA: ca.File}, "read the certificate"},
		"an authority's file without one":        {rest.Security{Cert: fleet.Cert, Key: fleet.Key, CA: fleet.Key}, "holds none"},
		"certificates of the fleet":              {rest.Security{Cert: fleet.Cert, Key: fleet.Key, CA: ca.File}, ""},
		"tokens with a certificate of no role":   {rest.Security{Cert: nobody.Cert, Key: nobody.Key, CA: ca.File, Tokens: tokens(t)}, ""},
		"tokens with a certificate of the world": {rest.Security{Cert: nobody.Cert, Key: nobody.Key, Tokens: tokens(t)}, ""},
		"nothing, on the loopback":               {rest.Security{}, ""},
	} {
		if err := c.security.Validate(); (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, expected %q", name, err, c.words)
		}
	}
	if l, err := (rest.Security{}).Listen(t.Context(), "0.0.0.0:0"); err == nil {
		l.Close()
		t.Error("a process without any security listens everywhere")
	}
}
