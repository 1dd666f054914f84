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
	"slices"
	"time"
)

// Security is how the processes of a fleet know each other and their operators. The zero value is no security
// at all: such a process serves the loopback only.
type Security struct {
	Tokens Tokens
	// Cert and Key are this process's certificate, for its API, and what it shows to others; CA verifies other
	// processes, and callers that show a certificate in place of a token. Files in PEM.
	Cert, Key, CA string
}

// open reports whether nobody has to show anything.
func (s Security) open() bool { return s.Tokens.None() && s.CA == "" }

// Validate says what doesn't go together.
func (s Security) Validate() error {
	switch {
	case (s.Cert == "") != (s.Key == ""):
		return errors.New("a certificate and its key go together: give both files or none")
	case s.Cert != "" && s.open():
		return errors.New("TLS alone lets everybody in: give a file of tokens, or the authority whose certificates name roles")
	case s.CA != "" && s.Cert == "":
		return errors.New("an authority is for the certificates of this fleet: give this process's own too")
	}
	cfg, err := s.tls()
	if err != nil || cfg == nil || s.Tokens.Of(Fleet) != "" {
		return err
	}
	if role, _ := s.own(cfg); role != Fleet {
		return fmt.Errorf("without tokens the fleet knows its processes by their certificates, and %s is not of the organization %s for servers and clients", s.Cert, organization+string(Fleet))
	}
	return nil
}

// own is the role that this process's certificate shows to others; ok is false if it shows none. One that is
// not for clients is not shown: whoever is asked would end the connection.
func (s Security) own(cfg *tls.Config) (r Role, ok bool) {
	leaf := cfg.Certificates[0].Leaf
	uses := leaf.ExtKeyUsage
	if len(uses) > 0 && !slices.Contains(uses, x509.ExtKeyUsageClientAuth) && !slices.Contains(uses, x509.ExtKeyUsageAny) {
		return "", false
	}
	return named(leaf.Subject.Organization)
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
	// NB: not required: health is for everybody, and a token is as good.
	cfg.ClientCAs, cfg.ClientAuth = cfg.RootCAs, tls.VerifyClientCertIfGiven
	return cfg, nil
}

// Gate is how the S3 gate of this process speaks TLS; nil for plain HTTP. Its callers sign their requests, so
// it asks for no certificates.
func (s Security) Gate() (*tls.Config, error) {
	cfg, err := s.tls()
	if err != nil || cfg == nil {
		return nil, err
	}
	return &tls.Config{Certificates: cfg.Certificates, MinVersion: cfg.MinVersion}, nil
}

// Listen opens a port for [Security.Serve]: the loopback if nobody has to show anything, else any address.
func (s Security) Listen(ctx context.Context, address string) (net.Listener, error) {
	if s.open() {
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

// Serve serves a handler behind [Security.Guarded], with TLS if there is a certificate. If nobody has to show
// anything it is [Serve].
func (s Security) Serve(l net.Listener, h http.Handler, log *slog.Logger) (*Server, error) {
	secure, err := s.tls()
	if err != nil {
		return nil, err
	}
	if s.open() {
		return Serve(l, h, log), nil
	}
	url := s.URL(l)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	return serve(l, url, s.Guarded(small(h)), log), nil
}

// Caller is what this process shows to others, in this role.
func (s Security) Caller(r Role) (Caller, error) {
	secure, err := s.tls()
	if err != nil {
		return Caller{}, err
	}
	if secure != nil {
		if _, shows := s.own(secure); !shows {
			secure.Certificates = nil
		}
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
