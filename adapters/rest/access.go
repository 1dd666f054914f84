package rest

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
)

// Role is what a caller may do.
type Role string

// The roles. Whoever may more may also do what is below.
const (
	Reader   Role = "reader"   // look at everything, change nothing
	Operator Role = "operator" // ask for merges, change modes and policies, drain workers
	Fleet    Role = "fleet"    // what masters ask of workers: start and cancel executions
)

// roles are in the order of what they may do.
var roles = []Role{Reader, Operator, Fleet}

// minToken is how long a token is at least; 32 random characters are better.
const minToken = 16

// Tokens are the secrets by which callers show their role. The zero value has none: everybody may do
// everything, so such a process listens on the loopback only.
type Tokens struct{ of map[Role]string }

// ReadTokens reads a file with a line `ROLE TOKEN` for each role that exists; empty lines and lines that begin
// with # say nothing.
func ReadTokens(path string) (Tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return Tokens{}, fmt.Errorf("read the tokens: %w", err)
	}
	defer f.Close()
	t := Tokens{of: map[Role]string{}}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		// NB: no error shows a part of the line: it may be a secret in the wrong place.
		fields := strings.Fields(line)
		role := Role(fields[0])
		switch {
		case len(fields) != 2 || !slices.Contains(roles, role):
			return Tokens{}, fmt.Errorf("%s:%d is not ROLE TOKEN, with reader, operator or fleet for the role", path, n)
		case len(fields[1]) < minToken:
			return Tokens{}, fmt.Errorf("%s:%d has a token of %d characters; at least %d are needed", path, n, len(fields[1]), minToken)
		case t.of[role] != "":
			return Tokens{}, fmt.Errorf("%s:%d is the second token of the role %s", path, n, role)
		}
		t.of[role] = fields[1]
	}
	if err := lines.Err(); err != nil {
		return Tokens{}, fmt.Errorf("read the tokens: %w", err)
	}
	if t.of[Fleet] == "" {
		return Tokens{}, fmt.Errorf("%s has no token of the role fleet, which masters show to workers", path)
	}
	return t, nil
}

// None reports whether there are no tokens at all.
func (t Tokens) None() bool { return len(t.of) == 0 }

// Of is the token of a role; "" if it has none.
func (t Tokens) Of(r Role) string { return t.of[r] }

// role is the highest role that a token shows; ok is false for a token that shows none. All tokens are
// compared, each in constant time.
func (t Tokens) role(token string) (found Role, ok bool) {
	given := sha256.Sum256([]byte(token))
	for _, r := range roles {
		want := sha256.Sum256([]byte(t.of[r]))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 && t.of[r] != "" {
			found, ok = r, true
		}
	}
	return found, ok
}

// needs is the role that a request takes. Health says nothing but that the process lives.
func needs(r *http.Request) (Role, bool) {
	switch {
	case r.URL.Path == "/healthz" || r.URL.Path == "/readyz":
		return "", false
	case strings.HasPrefix(r.URL.Path, internal):
		return Fleet, true
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return Reader, true
	}
	return Operator, true
}

// Guarded puts tokens and certificates before a handler: 401 without one that is known, 403 for a role that is
// too low. Of a token and a certificate the higher role counts.
func (s Security) Guarded(h http.Handler) http.Handler {
	if s.open() {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		need, any := needs(r)
		if any {
			role, known := shown(r.TLS)
			if token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); bearer {
				by, ok := s.Tokens.role(token)
				role, known = higher(role, by), known || ok
			}
			switch {
			case !known:
				w.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
				answer(w, newProblem(http.StatusUnauthorized, "show a token of this fleet, Authorization: Bearer TOKEN, or a certificate that names a role"))
				return
			case slices.Index(roles, role) < slices.Index(roles, need):
				answer(w, newProblem(http.StatusForbidden, fmt.Sprintf("this takes the role %s, and what was shown is of %s", need, role)))
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

// higher is the one of two roles that may do more; "" may do nothing.
func higher(a, b Role) Role {
	if slices.Index(roles, b) > slices.Index(roles, a) {
		return b
	}
	return a
}
