package etcd_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/kvtest"
)

// servers lends etcd clusters out, one to each store at a time, since the suite compares revisions and each
// write of anybody makes one.
type servers struct {
	t       *testing.T
	members int
	mu      sync.Mutex
	idle    []*etcdtest.Cluster
	lent    atomic.Int64
}

// lentStore gives its cluster back when it is closed.
type lentStore struct {
	kv.KV
	cfg  etcd.Config
	back func()
	once sync.Once
}

func (s *lentStore) Close() error {
	err := s.KV.Close()
	s.once.Do(s.back)
	return err
}

func (s *servers) open(t *testing.T) kv.KV {
	s.mu.Lock()
	defer s.mu.Unlock()
	var c *etcdtest.Cluster
	if n := len(s.idle); n > 0 {
		c, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		c = etcdtest.Start(s.t, s.members)
	}
	cfg := etcd.Config{Endpoints: c.Endpoints(), Prefix: fmt.Sprintf("/test %d/", s.lent.Add(1))}
	return s.lend(t, cfg, c)
}

func (s *servers) lend(t *testing.T, cfg etcd.Config, c *etcdtest.Cluster) kv.KV {
	t.Helper()
	k, err := etcd.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &lentStore{KV: k, cfg: cfg, back: func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle = append(s.idle, c)
	}}
}

// reopen takes the cluster back that the closed store had.
func (s *servers) reopen(t *testing.T, closed kv.KV) kv.KV {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := closed.(*lentStore)
	for i, c := range s.idle {
		if c.Endpoints()[0] == was.cfg.Endpoints[0] {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			return s.lend(t, was.cfg, c)
		}
	}
	t.Fatal("the cluster of the closed store is in use")
	return nil
}

func TestStoreConforms(t *testing.T) {
	t.Parallel()
	s := &servers{t: t, members: 1}
	kvtest.Run(t, kvtest.Harness{Open: s.open, Reopen: s.reopen})
}

func TestStoreConformsOnThreeMembers(t *testing.T) {
	t.Parallel()
	s := &servers{t: t, members: 3}
	kvtest.Run(t, kvtest.Harness{Open: s.open, Reopen: s.reopen})
}
