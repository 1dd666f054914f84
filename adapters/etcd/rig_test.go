package etcd_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/core"
)

// admin is a client that does what only operators of etcd do.
func admin(t *testing.T, c *etcdtest.Cluster) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func compact(t *testing.T, c *etcdtest.Cluster, rev core.Revision) {
	t.Helper()
	if _, err := admin(t, c).Compact(t.Context(), int64(rev)); err != nil {
		t.Fatal(err)
	}
}

// revokeAll ends all leases under their living holders.
func revokeAll(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	client := admin(t, c)
	leases, err := client.Leases(t.Context())
	if err != nil || len(leases.Leases) == 0 {
		t.Fatalf("leases: %v, %v", leases, err)
	}
	for _, l := range leases.Leases {
		if _, err := client.Revoke(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// behind is a store whose connection can be cut or led elsewhere.
type behind struct {
	t     *testing.T
	store *etcd.Store
	proxy *toxiproxy.Proxy
}

func proxied(t *testing.T, c *etcdtest.Cluster, ttl time.Duration) *behind {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, "etcd", "127.0.0.1:0", host(t, c))
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	s := open(t, etcd.Config{Endpoints: []string{fmt.Sprintf("http://%s", p.Listen)}, LeaseTTL: ttl})
	return &behind{t, s, p}
}

func host(t *testing.T, c *etcdtest.Cluster) string {
	t.Helper()
	u, err := url.Parse(c.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func (b *behind) cut() { b.proxy.Stop() }

// to leads the same address to another etcd.
func (b *behind) to(c *etcdtest.Cluster) {
	b.t.Helper()
	b.proxy.Stop()
	b.proxy.Upstream = host(b.t, c)
	if err := b.proxy.Start(); err != nil {
		b.t.Fatal(err)
	}
}
