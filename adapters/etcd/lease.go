package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sluice-data/sluice/guard"
)

// lease is the one lease of a process. It is granted for the first leased write, and granted anew for the next
// one after it was lost; whoever wrote under the old one sees its keys go.
type lease struct {
	turn chan struct{} // held by whoever looks at or changes id; a channel, so that waiting ends with a context
	id   clientv3.LeaseID
}

// leased is the id of a lease that is kept alive.
func (s *Store) leased(ctx context.Context, client *clientv3.Client) (clientv3.LeaseID, error) {
	l := &s.lease
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for a lease of etcd: %w", context.Cause(ctx))
	}
	if l.id != 0 {
		return l.id, nil
	}
	granted, err := client.Grant(ctx, int64(s.cfg.LeaseTTL/time.Second))
	if err != nil {
		return 0, fmt.Errorf("get a lease of etcd: %w", err)
	}
	// The client asks again and again on a stream of its own, and ends the channel once the lease is lost.
	alive, err := client.KeepAlive(s.alive, granted.ID)
	if err != nil {
		return 0, fmt.Errorf("keep a lease of etcd alive: %w", err)
	}
	l.id = granted.ID
	s.work.Go(func() {
		for range alive {
		}
		if s.alive.Err() == nil {
			l.forget(granted.ID)
		}
	})
	return l.id, nil
}

// lost takes a request's failure as what it may be: the end of the lease that it named.
func (l *lease) lost(err error, id clientv3.LeaseID) {
	if id != 0 && errors.Is(err, rpctypes.ErrLeaseNotFound) {
		l.forget(id)
	}
}

func (l *lease) forget(id clientv3.LeaseID) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.id == id && !guard.Out(guard.EtcdLeaseAnew) {
		l.id = 0
	}
}

// revokeLimit is how long a process that stops waits for the end of its lease; without an answer etcd ends it
// by its time.
const revokeLimit = 2 * time.Second

// revoke ends the lease with its process, so that nobody has to wait for its time.
func (l *lease) revoke(client *clientv3.Client) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.id == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), revokeLimit)
	defer cancel()
	_, _ = client.Revoke(ctx, l.id)
	l.id = 0
}
