package fleet_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/fleet"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// These benchmarks are run by hand, all in one run, by `make bench-fleet`; docs/operations.md has what was seen.

// benchFleet is one etcd, one lake, a master and a worker, with everything that is asked counted.
type benchFleet struct {
	testing.TB
	dir            string
	python         string
	clients        *stock.Clients
	cluster        *etcdtest.Cluster
	etcd           *etcdMeter
	atMaster, atOf *lakeMeter // the lake as the master sees it, and as the worker does
	store          *etcd.Store
	master         *fleet.Master
	limits         core.Limits
}

func newBenchFleet(b *testing.B, limits core.Limits) *benchFleet {
	b.Helper()
	f := &benchFleet{TB: b, dir: filepath.Join(b.TempDir(), "lake"), etcd: &etcdMeter{}, limits: limits}
	f.must(os.Mkdir(f.dir, 0o755))
	var err error
	f.python, err = engine.FindPython(b.Context(), "")
	f.must(err)
	f.clients, err = stock.Start(b.Context(), f.python)
	f.must(err)
	b.Cleanup(func() { _ = f.clients.Close() })
	f.cluster = etcdtest.Start(b, 1, func(c *embed.Config) {
		c.GRPCAdditionalServerOptions = append(c.GRPCAdditionalServerOptions, grpc.StatsHandler(f.etcd))
	})
	f.store = f.connect()
	return f
}

func (f *benchFleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *benchFleet) connect() *etcd.Store {
	f.Helper()
	s, err := etcd.Open(etcd.Config{Endpoints: f.cluster.Endpoints()})
	f.must(err)
	f.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *benchFleet) common(owned []core.Target) (fleet.Common, *lakeMeter) {
	f.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	local, err := lake.OpenLocal(f.dir)
	f.must(err)
	meter := &lakeMeter{Lake: local}
	return fleet.Common{Lake: meter, KV: f.connect(), Owned: owned, Limits: f.limits, Listener: l, Version: "bench", Log: slog.New(slog.DiscardHandler)}, meter
}

// open starts the processes of the fleet, in this one.
func (f *benchFleet) open(owned []core.Target) {
	f.Helper()
	var err error
	cfg := fleet.MasterConfig{ID: "m1"}
	cfg.Common, f.atMaster = f.common(owned)
	f.master, err = fleet.OpenMaster(f.Context(), cfg)
	f.must(err)
	f.Cleanup(func() { _ = f.master.Close() })
	work := fleet.WorkerConfig{Endpoint: "w1", Python: f.python, Slots: 1}
	work.Common, f.atOf = f.common(owned)
	w, err := fleet.OpenWorker(f.Context(), work)
	f.must(err)
	f.Cleanup(func() { _ = w.Close() })
	f.await("the fleet to be registered", func() bool {
		v := f.view()
		return len(v.Masters) == 1 && len(v.Workers) == 1
	})
}

func (f *benchFleet) view() *core.View {
	f.Helper()
	s, err := f.store.Read(f.Context(), core.Everything())
	f.must(err)
	return core.ViewOf(s.Revision, s.Records)
}

func (f *benchFleet) await(what string, done func() bool) {
	f.Helper()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for end := time.Now().Add(2 * time.Minute); !done(); <-every.C {
		if time.Now().After(end) {
			f.Fatalf("waited two minutes for %s", what)
		}
	}
}

// tables makes n equal tables with rows in the base and nothing pending; copies share their files.
func (f *benchFleet) tables(n int) []core.Target {
	f.Helper()
	origin := filepath.Join(f.TempDir(), "origin.lance")
	f.must(f.clients.CreateLSM(f.Context(), stock.Table{URI: origin}, stock.Rows{To: 100}, filepath.Join(filepath.Dir(origin), "record")))
	var out []core.Target
	for i := range n {
		t := core.Target(fmt.Sprintf("t/%05d", i))
		out = append(out, t)
		f.must(linkTree(origin, filepath.Join(f.dir, t.Path())))
	}
	return out
}

// linkTree copies a directory whose files nobody changes in place.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		part, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, part), 0o755)
		}
		return os.Link(name, filepath.Join(to, part))
	})
}

// generation writes one generation of 20 rows to a table.
func (f *benchFleet) generation(t core.Target, number int) {
	f.Helper()
	_, err := f.clients.WriteLSM(f.Context(), stock.Table{URI: filepath.Join(f.dir, t.Path())}, stock.Rows{From: 90, To: 110, Generation: number}, "")
	f.must(err)
}

// merge asks for a merge of a table that nobody merges, and waits for its release.
func (f *benchFleet) merge(t core.Target) {
	f.Helper()
	a, err := f.master.Driver.Merge(f.Context(), t, false)
	f.must(err)
	if a.Refused != core.ReasonNone || !a.Failure.OK() {
		f.Fatalf("the merge of %s is refused: %+v", t, a)
	}
	f.await("the merge of "+string(t), func() bool {
		s, err := f.store.Read(f.Context(), core.Range{Key: core.HistoryKey(t, a.After+1)})
		f.must(err)
		if len(s.Records) == 0 {
			return false
		}
		h, err := core.Decode[core.History](s.Records[0].Key, s.Records[0].Value)
		f.must(err)
		if !h.Merged {
			f.Fatalf("the merge of %s failed: %+v", t, h.Failure)
		}
		return true
	})
}
