package fleet_test

import (
	"context"
	"io"
	"path"
	"sync"

	"google.golang.org/grpc/stats"

	"github.com/sluice-data/sluice/adapters/lake"
)

// tally counts requests by what they are.
type tally struct {
	mu       sync.Mutex
	requests map[string]int
	bytes    int
}

func (c *tally) add(what string, requests, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[string]int{}
	}
	c.requests[what] += requests
	c.bytes += bytes
}

// reset forgets what came so far.
func (c *tally) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.bytes = nil, 0
}

func (c *tally) total() (requests, bytes int, by map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by = map[string]int{}
	for what, n := range c.requests {
		requests += n
		by[what] = n
	}
	return requests, c.bytes, by
}

// etcdMeter counts what an etcd server is asked, and the bytes of it in both directions. Lease keep-alives are
// left out; a watch counts as one request when it begins, and by its bytes from then on.
type etcdMeter struct{ tally }

type methodKey struct{}

// TagRPC implements [stats.Handler].
func (m *etcdMeter) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, methodKey{}, path.Base(info.FullMethodName))
}

// HandleRPC implements [stats.Handler].
func (m *etcdMeter) HandleRPC(ctx context.Context, s stats.RPCStats) {
	method, _ := ctx.Value(methodKey{}).(string)
	if method == "LeaseKeepAlive" {
		return
	}
	switch s := s.(type) {
	case *stats.InPayload:
		m.add(method, 1, s.WireLength)
	case *stats.OutPayload:
		m.add(method, 0, s.WireLength)
	}
}

// TagConn implements [stats.Handler].
func (m *etcdMeter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements [stats.Handler].
func (m *etcdMeter) HandleConn(context.Context, stats.ConnStats) {}

// lakeMeter counts the requests to a lake.
type lakeMeter struct {
	lake.Lake
	tally
}

func (m *lakeMeter) Get(ctx context.Context, key string) ([]byte, error) {
	m.add("get", 1, 0)
	return m.Lake.Get(ctx, key)
}

func (m *lakeMeter) Open(ctx context.Context, key string) (io.ReadCloser, lake.Info, error) {
	m.add("get", 1, 0)
	return m.Lake.Open(ctx, key)
}

func (m *lakeMeter) Head(ctx context.Context, key string) (lake.Info, error) {
	m.add("head", 1, 0)
	return m.Lake.Head(ctx, key)
}

func (m *lakeMeter) List(ctx context.Context, folder string) ([]lake.Info, error) {
	m.add("list", 1, 0)
	return m.Lake.List(ctx, folder)
}

func (m *lakeMeter) Children(ctx context.Context, folder string) (lake.Children, error) {
	m.add("list", 1, 0)
	return m.Lake.Children(ctx, folder)
}

func (m *lakeMeter) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	m.add("put", 1, 0)
	return m.Lake.PutIfAbsent(ctx, key, body)
}

func (m *lakeMeter) Put(ctx context.Context, key string, body []byte) error {
	m.add("put", 1, 0)
	return m.Lake.Put(ctx, key, body)
}

func (m *lakeMeter) Delete(ctx context.Context, key string) error {
	m.add("delete", 1, 0)
	return m.Lake.Delete(ctx, key)
}
