package gate_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopClients()
	os.Exit(code)
}

// world is a lake with a gate before it. The worker's machine is a fake; lake, gate and Lance client are
// real.
type world struct {
	*gate.Gate
	authority *fakeAuthority
	lake      lake.Lake // the real one, below whatever the gate sees
	dir       string
	client    gate.Credential
	wire      *wire
}

// setup is what a test changes about its world.
type setup struct {
	wrap     func(lake.Lake) lake.Lake
	timeout  time.Duration
	hold     time.Duration
	landed   func(core.Target, core.ShardID)
	prepare  func(dir string)
	listenOn string
	tls      *tls.Config
}

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{authority: newFakeAuthority(), dir: t.TempDir()}
	if s.prepare != nil {
		s.prepare(w.dir)
	}
	local, err := lake.OpenLocal(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	w.lake = local
	seen := lake.Lake(local)
	if s.wrap != nil {
		seen = s.wrap(local)
	}
	w.Gate, err = gate.Start(t.Context(), gate.Config{
		Lake: seen, Authority: w.authority, Scratch: t.TempDir(), Address: s.listenOn, TLS: s.tls,
		StorageTimeout: s.timeout, ExecutionHold: s.hold, ShardLanded: s.landed,
		Log: slog.New(slog.NewTextHandler(testLog{t}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.client, err = w.GrantClient("", ""); err != nil {
		t.Fatal(err)
	}
	w.wire = newWire(w.Gate, w.client)
	return w
}

// testLog writes the gate's log into the test's.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	fmt.Fprint(l.t.Output(), string(p))
	return len(p), nil
}

var _ io.Writer = testLog{}

const table = core.Target("db/events")

// tableID is what adoption would have written.
const tableID = core.TableID("3f0c0c4e-table")

// adopted makes a table with rows 0 to 9 and one pending generation of rows 5 to 14 in one shard, all
// through the gate as a client, and marks it adopted.
func (w *world) adopted(t *testing.T, c *client) core.ShardID {
	t.Helper()
	w.authority.own(table, core.Direct)
	c.must(t, w.Gate, w.client, "create", table, args{"ids": ids(0, 10)})
	c.must(t, w.Gate, w.client, "adopt", table, args{"table_id": tableID})
	shard := c.ask(t, args{"op": "new_shard"}).Shard
	c.must(t, w.Gate, w.client, "ingest", table, args{"shard": shard, "ids": ids(5, 15)})
	return core.ShardID(shard)
}

func ids(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// start runs a made-up execution of a table with one pending generation of a shard.
func (w *world) start(t *testing.T, target core.Target, shard core.ShardID) (core.Execution, gate.Credential) {
	t.Helper()
	table, err := lance.ReadTable(context.Background(), w.lake, target)
	if err != nil {
		t.Fatal(err)
	}
	e := core.Execution{
		ID: core.ExecutionID("e-" + t.Name()), Target: target, Kind: core.KindMerge, Phase: core.Running,
		TableID: table.Base.TableID, Path: target.Path(), Scheme: table.Base.Scheme,
		BaseVersion: table.Base.Version, Marks: table.Base.Marks,
		Plan: []core.ShardPlan{{Shard: shard, First: 1, Last: 1}},
	}
	w.authority.run(e)
	return e, w.GrantExecution(e)
}
