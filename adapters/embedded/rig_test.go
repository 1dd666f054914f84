package embedded_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// clients and python are shared by the tests: importing pylance and LanceDB takes longer than any of them.
var (
	clients *stock.Clients
	python  string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if python, err = engine.FindPython(ctx, ""); err == nil {
		clients, err = stock.Start(ctx, python)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer clients.Close()
	return m.Run()
}

// rig is one lake with one process of ours on it.
type rig struct {
	*testing.T
	dir    string
	record string
	cfg    embedded.Config
	node   *embedded.Node
}

func newRig(t *testing.T, owned ...core.Target) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{T: t, dir: filepath.Join(dir, "lake"), record: filepath.Join(dir, "record")}
	r.must(os.Mkdir(r.dir, 0o755))
	r.cfg = embedded.Config{
		Lake: r.dir, Python: python, Owned: owned,
		// Nothing looks at a table unless the test asks for it.
		Limits: core.Limits{Poll: time.Hour},
		Log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	return r
}

// open starts the process; it ends with the test at the latest.
func (r *rig) open() {
	r.Helper()
	n, err := embedded.Open(r.Context(), r.cfg)
	r.must(err)
	r.node = n
	r.Cleanup(r.close)
}

func (r *rig) close() {
	r.Helper()
	if r.node != nil {
		r.must(r.node.Close())
	}
	r.node = nil
}

// table is a table as the user's own programs reach it, through the gate.
func (r *rig) table(t core.Target) stock.Table {
	return stock.Table{URI: "s3://lake/" + t.Path(), StorageOptions: r.node.Gate.StorageOptions(r.node.Client)}
}

// direct is the same table straight on the directory.
func (r *rig) direct(t core.Target) stock.Table {
	return stock.Table{URI: filepath.Join(r.dir, t.Path())}
}

// merge asks for a merge and waits until it is released.
func (r *rig) merge(t core.Target) core.History {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 40*time.Second)
	defer cancel()
	after, err := r.node.Request(ctx, t)
	r.must(err)
	h, err := r.node.Await(ctx, t, after)
	r.must(err)
	return h
}

func (r *rig) saveView(t core.Target) stock.Source {
	r.Helper()
	path := filepath.Join(r.TempDir(), "view")
	_, err := clients.View(r.Context(), r.direct(t), path)
	r.must(err)
	return stock.File(path)
}

// wantBase compares the base, row by row, with what the view was and with the writers' own record.
func (r *rig) wantBase(t core.Target, view stock.Source) {
	r.Helper()
	for name, want := range map[string]stock.Source{"the view before": view, "the writers' record": stock.File(r.record)} {
		c, err := clients.Compare(r.Context(), want, stock.BaseOf(r.direct(t)))
		r.must(err)
		if !c.Equal {
			r.Fatalf("the base of %s is not %s: %s", t, name, c)
		}
	}
}

func (r *rig) pending(t core.Target) int {
	r.Helper()
	table, err := lance.ReadTable(r.Context(), r.node.Lake, t)
	r.must(err)
	n := 0
	for _, s := range table.Shards {
		n += len(table.Pending(s))
	}
	return n
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func must[V any](t *testing.T) func(V, error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
