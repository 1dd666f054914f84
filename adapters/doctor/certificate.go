package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/sluice-data/sluice/adapters/rest"
)

// expiry is how long before its end a certificate is worth mentioning.
const expiry = 14 * 24 * time.Hour

// Access looks at what a process shows and asks for: tokens and certificates that go together. tokens is the
// name of the file of tokens, "" for none.
func Access(tokens string, s rest.Security, advertise string) Check {
	return func(context.Context) (out []Finding) {
		const check = "access"
		if tokens == "" && s.Cert == "" && s.Key == "" && s.CA == "" {
			return []Finding{passed(check, "nobody has to show anything, so the HTTP API is for 127.0.0.1 only")}
		}
		var err error
		if tokens != "" {
			s.Tokens, err = rest.ReadTokens(tokens)
		}
		if err == nil {
			err = s.Validate()
		}
		if err != nil {
			return []Finding{failed(check, "see --tokens and --tls-cert in sluice worker --help", err)}
		}
		out = append(out, passed(check, "what is given goes together"))
		if s.Cert != "" {
			out = append(out, certificate(s, advertise, time.Now()))
		}
		return out
	}
}

// certificate looks whether others of the fleet will trust this process's certificate, at its address, and
// for how long.
func certificate(s rest.Security, advertise string, now time.Time) Finding {
	const check = "certificate"
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return failed(check, "see --tls-cert and --tls-key", err)
	}
	leaf := pair.Leaf
	if now.After(leaf.NotAfter) {
		return failed(check, "renew it, and restart what uses it", fmt.Errorf("it was valid until %s", leaf.NotAfter.Format(time.RFC3339)))
	}
	if u, err := url.Parse(advertise); err != nil || advertise != "" && u.Hostname() == "" {
		return failed(check, "write --advertise as https://HOST:PORT", fmt.Errorf("%q is no URL", advertise))
	} else if advertise != "" {
		if err := leaf.VerifyHostname(u.Hostname()); err != nil {
			return failed(check, "let it name the host of --advertise", err)
		}
	}
	if err := verified(s.CA, pair); err != nil {
		return failed(check, "let the authority of --tls-ca sign it", err)
	}
	if left := leaf.NotAfter.Sub(now); left < expiry {
		return warning(check, "renew it soon, and restart what uses it", "it is valid for %v more", left.Round(time.Hour))
	}
	return passed(check, "it is trusted until %s", leaf.NotAfter.Format(time.DateOnly))
}

// verified checks the certificate, with those that come with it, as another process of the fleet does.
func verified(authority string, pair tls.Certificate) error {
	options := x509.VerifyOptions{Intermediates: x509.NewCertPool()}
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			options.Intermediates.AddCert(c)
		}
	}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return err
		}
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(text) {
			return errors.New(authority + " holds no certificate")
		}
	}
	_, err := pair.Leaf.Verify(options)
	return err
}
