// Package etcdtest starts real etcd servers for tests, in the test's own process, on free ports, in temporary
// directories.
package etcdtest

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startLimit is how long a cluster may take until it serves; it is only ever used up by a failing test.
const startLimit = 60 * time.Second

// Cluster is a number of etcd members.
type Cluster struct {
	members []*member
}

type member struct {
	cfg *embed.Config
	run *embed.Etcd // nil while it is stopped
}

// Start starts a cluster of so many members, which ends with the test. change, if any, is done to each
// member's configuration.
func Start(t testing.TB, members int, change ...func(*embed.Config)) *Cluster {
	t.Helper()
	c := &Cluster{}
	var all []string
	for i := range members {
		cfg := embed.NewConfig()
		cfg.Name, cfg.Dir = fmt.Sprintf("m%d", i+1), t.TempDir()
		cfg.Logger, cfg.LogLevel, cfg.LogOutputs = "zap", "panic", []string{"/dev/null"}
		cfg.UnsafeNoFsync = true // a test's servers end with its machine
		cfg.TickMs, cfg.ElectionMs = 50, 500
		peer, client := free(t), free(t)
		cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		for _, f := range change {
			f(cfg)
		}
		all = append(all, cfg.Name+"="+cfg.AdvertisePeerUrls[0].String())
		c.members = append(c.members, &member{cfg: cfg})
	}
	t.Cleanup(func() {
		for i := range c.members {
			c.Stop(i)
		}
	})
	for _, m := range c.members {
		m.cfg.InitialCluster = strings.Join(all, ",")
		m.start(t)
	}
	for _, m := range c.members {
		m.wait(t)
	}
	return c
}

// free is a URL on a port that nobody listens on.
func free(t testing.TB) url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

func (m *member) start(t testing.TB) {
	t.Helper()
	run, err := embed.StartEtcd(m.cfg)
	if err != nil {
		t.Fatalf("start etcd member %s: %v", m.cfg.Name, err)
	}
	m.run = run
}

func (m *member) wait(t testing.TB) {
	t.Helper()
	select {
	case <-m.run.Server.ReadyNotify():
	case err := <-m.run.Err():
		t.Fatalf("etcd member %s: %v", m.cfg.Name, err)
	case <-time.After(startLimit):
		t.Fatalf("etcd member %s does not serve after %v", m.cfg.Name, startLimit)
	}
}

// Endpoints are where clients reach the members.
func (c *Cluster) Endpoints() []string {
	var out []string
	for _, m := range c.members {
		out = append(out, m.cfg.AdvertiseClientUrls[0].String())
	}
	return out
}

// Stop stops a member; one that is stopped stays so.
func (c *Cluster) Stop(member int) {
	if m := c.members[member]; m.run != nil {
		m.run.Close()
		m.run = nil
	}
}

// Restart starts a stopped member on what it has on disk.
func (c *Cluster) Restart(t testing.TB, member int) {
	t.Helper()
	m := c.members[member]
	m.cfg.ClusterState = embed.ClusterStateFlagExisting
	m.start(t)
	m.wait(t)
}

// Leader is the member that leads, or -1.
func (c *Cluster) Leader() int {
	for i, m := range c.members {
		if m.run != nil && m.run.Server.Leader() == m.run.Server.MemberID() {
			return i
		}
	}
	return -1
}

// Member is the running server of a member.
func (c *Cluster) Member(i int) *embed.Etcd { return c.members[i].run }
