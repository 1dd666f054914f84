package etcd

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Member is what one of the configured endpoints says of itself.
type Member struct {
	Endpoint string
	// Version is the server's; Used and Quota are the size of its database and what it may grow to (0 where
	// the server doesn't say). Alarms are those that are raised, such as NOSPACE.
	Version     string
	Used, Quota int64
	Alarms      []string
	// Clock is the server's wall clock to the second, and Asked when the answer came; zero where its HTTP side
	// doesn't answer.
	Clock, Asked time.Time
	// Err is why it doesn't answer.
	Err error
}

// Members asks each endpoint of the configuration, whether or not the others answer. The error is about the
// connection as a whole, such as a wrong password.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	client, err := s.connected()
	if err != nil {
		return nil, fmt.Errorf("ask etcd: %w", err)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var out []Member
	for _, endpoint := range s.cfg.Endpoints {
		m := Member{Endpoint: endpoint}
		one, cancel := context.WithTimeout(ctx, dialLimit)
		answer, err := client.Status(one, endpoint)
		cancel()
		if err != nil {
			m.Err = fmt.Errorf("ask %s: %w", endpoint, err)
		} else {
			m.Version, m.Used, m.Quota, m.Alarms = answer.Version, answer.DbSize, answer.DbSizeQuota, answer.Errors
			m.Clock, m.Asked = s.clock(ctx, endpoint)
		}
		out = append(out, m)
	}
	return out, nil
}

// clock takes the time from the header that every HTTP answer has: etcd's own answers carry none.
func (s *Store) clock(ctx context.Context, endpoint string) (theirs, ours time.Time) {
	secure, err := s.cfg.tls()
	if err != nil {
		return theirs, ours
	}
	base := endpoint
	if !strings.Contains(base, "://") {
		base = (&url.URL{Scheme: map[bool]string{true: "https", false: "http"}[secure != nil], Host: endpoint}).String()
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/version", nil)
	if err != nil {
		return theirs, ours
	}
	via := &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: via}).Do(q)
	if err != nil {
		return theirs, ours
	}
	defer answer.Body.Close()
	if theirs, err = http.ParseTime(answer.Header.Get("Date")); err != nil {
		return time.Time{}, time.Time{}
	}
	return theirs, time.Now()
}
