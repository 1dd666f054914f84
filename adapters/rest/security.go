package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

// Security is how the processes of a fleet know each other and their operators. The zero value is no security
// at all: such a process serves the loopback only.
type Security struct {
	Tokens Tokens
	// Cert and Key are this process's certificate, for its API; CA verifies other processes. Files in PEM.
	Cert, Key, CA string
}

// Validate says what doesn't go together.
func (s Security) Validate() error {
	switch {
	case (s.Cert == "") != (s.Key == ""):
		return errors.New("a certificate and its key go together: give both files or none")
	case s.Cert != "" && s.Tokens.None():
		return errors.New("TLS without tokens lets everybody in: give a file of tokens too")
	case s.CA != "" && s.Cert == "":
		return errors.New("an authority is for the certificates of this fleet: give this process's own too")
	}
	_, err := s.tls()
	return err
}

// tls is nil for plain HTTP.
func (s Security) tls() (*tls.Config, error) {
	if s.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if s.CA == "" {
		return cfg, nil
	}
	text, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authority's certificate: %w", err)
	}
	cfg.RootCAs = x509.NewCertPool()
	if !cfg.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the authority's certificate: %s holds none", s.CA)
	}
	return cfg, nil
}

// Listen opens a port for [Security.Serve]: any address with tokens, the loopback without.
func (s Security) Listen(ctx context.Context, address string) (net.Listener, error) {
	if s.Tokens.None() {
		return Listen(ctx, address)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("address %q is not host:port, such as 0.0.0.0:8080: %w", address, err)
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the HTTP API can't listen on %s: %w; choose another address with --http", address, err)
	}
	return l, nil
}

// URL is where a listener of this process is reached from the same machine.
func (s Security) URL(l net.Listener) string {
	if s.Cert != "" {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Serve serves a handler behind the tokens, with TLS if there is a certificate. Without tokens it is [Serve].
func (s Security) Serve(l net.Listener, h http.Handler, log *slog.Logger) (*Server, error) {
	secure, err := s.tls()
	if err != nil {
		return nil, err
	}
	if s.Tokens.None() {
		return Serve(l, h, log), nil
	}
	url := s.URL(l)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	return serve(l, url, s.Tokens.Guarded(small(h)), log), nil
}

// Caller is what this process shows to others, in this role.
func (s Security) Caller(r Role) (Caller, error) {
	secure, err := s.tls()
	if err != nil {
		return Caller{}, err
	}
	return NewCaller(s.Tokens.Of(r), secure), nil
}

// Caller asks other processes. The zero value shows nothing and speaks plain HTTP.
type Caller struct {
	token string
	http  *http.Client
}

// NewCaller makes a caller that shows a token and trusts these certificates; both may be empty. A proxy from
// the environment has no part in what processes of a fleet say to each other.
func NewCaller(token string, secure *tls.Config) Caller {
	return Caller{token, &http.Client{
		Timeout: askLimit + 10*time.Second,
		Transport: &http.Transport{
			TLSClientConfig: secure, Proxy: nil, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
	}}
}

func (c Caller) do(r *http.Request) (*http.Response, error) {
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.http == nil {
		return direct.http.Do(r)
	}
	return c.http.Do(r)
}

// direct is the caller of processes on one machine.
var direct = NewCaller("", nil)
