// Package etcd keeps the protocol's records in etcd, for a lake that a fleet serves.
//
// Every method of the port is one request to etcd, and linearizable. What etcd did not answer is unknown and
// stays so: the callers resolve it by reading. A lease is one of etcd's, kept alive while this process lives
// and reaches it; a registration that was lost with its lease is made again by whoever made it first, who
// sees it go in a watch.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

var _ kv.KV = (*Store)(nil)

// ErrWentBack says that etcd has shown an older revision than before: it was restored from a backup, or is
// another one. Nothing that was read from it can be trusted then, so the store ends.
var ErrWentBack = errors.New("the revision of etcd went back: it was restored from a backup or is another etcd; stop every process of this lake, and see docs/operations.md before they start again")

// Store is a [kv.KV] in etcd. [Open] makes one.
type Store struct {
	cfg Config
	// alive ends when the store is closed or can't be trusted any more; its cause says which.
	alive context.Context
	end   context.CancelCauseFunc

	mu     sync.Mutex
	client *clientv3.Client // nil until etcd could be asked for the first time
	seen   core.Revision    // the highest revision that an answer has shown

	lease lease
	work  sync.WaitGroup // watches, and what keeps the lease alive
}

// Open makes a store. It asks nothing of etcd, which may be down: the first call that needs it connects.
func Open(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg.withDefaults()}
	s.alive, s.end = context.WithCancelCause(context.Background())
	s.lease.turn = make(chan struct{}, 1)
	return s, nil
}

// Close ends the store, its watches and its lease. Closing a closed store does nothing.
func (s *Store) Close() error {
	s.end(kv.ErrClosed)
	s.work.Wait()
	s.mu.Lock()
	client := s.client
	s.client = nil
	s.mu.Unlock()
	if client == nil {
		return nil
	}
	s.lease.revoke(client)
	if err := client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close the connection to etcd: %w", err)
	}
	return nil
}

// dialLimit bounds one attempt to log in; connections themselves are made and made again in the background.
const dialLimit = 5 * time.Second

// connected is the client, made by the first call that needs it. With a password that asks etcd for a token,
// so it may fail for as long as etcd is down.
func (s *Store) connected() (*clientv3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.alive); err != nil {
		return nil, err
	}
	if s.client != nil {
		return s.client, nil
	}
	secure, err := s.cfg.tls()
	if err != nil {
		return nil, err
	}
	// NB: the client's own log would go to stderr beside ours; what counts comes back as an error.
	client, err := clientv3.New(clientv3.Config{
		Endpoints: s.cfg.Endpoints, TLS: secure, Username: s.cfg.Username, Password: s.cfg.Password,
		DialTimeout: dialLimit, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
		Logger: zap.NewNop(), Context: context.WithoutCancel(s.alive),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %v: %w", s.cfg.Endpoints, err)
	}
	s.client = client
	return client, nil
}

// known is the highest revision that any answer has shown so far. Take it before a request.
func (s *Store) known() core.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// saw notes the revision of an answer. Every request is linearizable, so it may not lie below what was known
// before the request was sent.
func (s *Store) saw(rev, before core.Revision) error {
	s.mu.Lock()
	s.seen = max(s.seen, rev)
	s.mu.Unlock()
	if rev < before && !guard.Out(guard.EtcdWentBack) {
		s.end(ErrWentBack)
		return fmt.Errorf("revision %d after %d: %w", rev, before, ErrWentBack)
	}
	return nil
}

// bounded ends ctx when the store ends, with the store's reason.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.alive, func() { cancel(context.Cause(s.alive)) })
	return ctx, func() { stop(); cancel(nil) }
}

func (s *Store) key(key string) string { return s.cfg.Prefix + key }

// rangeEnd is the exclusive end of a range under the prefix; "" stays the one key.
func (s *Store) rangeEnd(end string) string {
	if end == "" {
		return ""
	}
	return s.cfg.Prefix + end
}
