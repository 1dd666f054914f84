package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Server serves the API until Close.
type Server struct {
	http   *http.Server
	served chan error
	url    string
}

const (
	maxHeader = 16 << 10
	maxBody   = 1 << 20 // an execution names all its shards
)

// Listen opens a port of the loopback for [Serve]. Nothing but the loopback is served: the API has no
// passwords.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	if err := CheckAddress(address); err != nil {
		return nil, err
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the HTTP API can't listen on %s: %w; choose another address with --http", address, err)
	}
	return l, nil
}

// CheckAddress says why an address to listen on is refused.
func CheckAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q is not host:port, such as 127.0.0.1:8080: %w", address, err)
	}
	if !loopback(host) {
		return fmt.Errorf("address %q is not of the loopback: the HTTP API has no passwords, so it listens on 127.0.0.1 only", address)
	}
	return nil
}

// Serve serves a handler behind what every request has to pass: its host is a name of the loopback, it does
// not come from another site's page, and it is small and comes in time.
func Serve(l net.Listener, h http.Handler, log *slog.Logger) *Server {
	return serve(l, Security{}.URL(l), Protected(h), log)
}

func serve(l net.Listener, url string, h http.Handler, log *slog.Logger) *Server {
	s := &Server{url: url, served: make(chan error, 1)}
	s.http = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      askLimit + 10*time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() { s.served <- s.http.Serve(l) }()
	return s
}

// Protected puts the checks of [Serve] before a handler.
func Protected(h http.Handler) http.Handler {
	sameSite := http.NewCrossOriginProtection()
	sameSite.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, newProblem(http.StatusForbidden, "this request comes from another site's page"))
	}))
	inner := sameSite.Handler(small(h))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page of another site whose name was made to point at the loopback would pass as the same site.
		if !loopback(hostOf(r.Host)) && !guard.Out(guard.RestHost) {
			answer(w, newProblem(http.StatusMisdirectedRequest, fmt.Sprintf("host %q is not a name of this machine's loopback", r.Host)))
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// small bounds the body of a request.
func small(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		h.ServeHTTP(w, r)
	})
}

// URL is where the API is.
func (s *Server) URL() string { return s.url }

// Close ends the requests under way within a moment.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("close the HTTP API at %s: %w", s.url, err)
	}
	return nil
}

func answer(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client has gone
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

func loopback(host string) bool {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CheckURL says why an address of the API is refused: it must be plain HTTP on the loopback.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("address %q of the HTTP API: %w", address, err)
	}
	if u.Scheme != "http" || !loopback(u.Hostname()) || u.Path != "" && u.Path != "/" {
		return fmt.Errorf("address %q of the HTTP API is not http://HOST:PORT of the loopback", address)
	}
	return nil
}
