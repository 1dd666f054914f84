package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// events is the table that most tests are about; each has a lake of its own.
const events core.Target = "db/events"

// patience bounds every wait of a test.
const patience = 60 * time.Second

// rig is one lake with one process of ours on it, with faults to be put below its gate and around its KV.
type rig struct {
	*testing.T
	dir    string
	record string
	cfg    embedded.Config
	node   *embedded.Node
	files  *lake.Local // the test's own look at the lake
	puts   *holding    // below the gate
	kv     *faultyKV
	chain  *chain
	// key and columns are those of the table; empty means the stock clients' own.
	key     []string
	columns []stock.Column
}

func newRig(t *testing.T, owned ...core.Target) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{T: t, dir: filepath.Join(dir, "lake"), record: filepath.Join(dir, "record")}
	r.chain = &chain{rig: r, admissions: filepath.Join(dir, "admissions"), foreign: map[core.Version]bool{}}
	r.must(os.Mkdir(r.dir, 0o755))
	var err error
	r.files, err = lake.OpenLocal(r.dir)
	r.must(err)
	t.Cleanup(func() { r.files.Close() })
	r.cfg = embedded.Config{
		Lake: r.dir, Python: python, Owned: owned,
		// Nothing looks at a table unless the test asks for it.
		Limits: core.Limits{Poll: time.Hour, Probe: 500 * time.Millisecond},
		Log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
		Below: func(l lake.Lake) lake.Lake {
			r.puts = newHolding(l)
			return r.puts
		},
		AroundKV: func(k kv.KV) kv.KV {
			r.kv = &faultyKV{KV: k, admissions: r.chain.admissions}
			return r.kv
		},
	}
	return r
}

// open starts the process; it ends with the test at the latest. A process looks at what it owns at once,
// and not again unless it is asked to: where there is no table yet, that look is over when open returns.
func (r *rig) open() {
	r.Helper()
	n, err := embedded.Open(r.Context(), r.cfg)
	r.must(err)
	r.node = n
	r.Cleanup(r.close)
	if _, err := os.Stat(filepath.Join(r.dir, events.Path())); err == nil || len(r.cfg.Owned) == 0 {
		return
	}
	r.poll("the first look at the lake", func() bool { return n.Master.Why(events) == core.ReasonNoDemand })
}

// poll waits for something that nobody tells.
func (r *rig) poll(what string, done func() bool) {
	r.Helper()
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for end := time.Now().Add(patience); !done(); <-every.C {
		if time.Now().After(end) {
			r.Fatalf("waited %v for %s", patience, what)
		}
	}
}

func (r *rig) close() {
	r.Helper()
	if r.node == nil {
		return
	}
	if err := r.node.Close(); err != nil {
		r.Errorf("close the process: %v", err)
	}
	r.node = nil
}

// table is a table as the user's own programs reach it, through the gate.
func (r *rig) table(t core.Target) stock.Table {
	return stock.Table{
		URI: "s3://lake/" + t.Path(), StorageOptions: r.node.Gate.StorageOptions(r.node.Client),
		Key: r.key, Columns: r.columns,
	}
}

// direct is the same table straight on the directory.
func (r *rig) direct(t core.Target) stock.Table {
	return stock.Table{URI: filepath.Join(r.dir, t.Path()), Key: r.key, Columns: r.columns}
}

// lancedb makes the table with LanceDB, with rows in its base and pending generations.
func (r *rig) lancedb(generations int) {
	r.Helper()
	r.must(clients.CreateLSM(r.Context(), r.direct(events), stock.Rows{To: 100}, r.record))
	r.generations(generations)
	r.chain.begin()
}

// generations writes more of them with LanceDB, straight on the directory.
func (r *rig) generations(n int) {
	r.Helper()
	must[stock.Written](r.T)(clients.WriteGenerations(r.Context(), r.direct(events), n, 20, r.record))
}

// sharded makes the table with pylance, with rows in its base, for shards chosen by hand.
func (r *rig) sharded(rows stock.Rows) {
	r.Helper()
	r.must(clients.CreateSharded(r.Context(), r.direct(events), rows, r.record))
	r.chain.begin()
}

// shard writes one generation of a shard, straight on the directory; "" is a new shard.
func (r *rig) shard(id string, rows *stock.Rows, deletes ...any) string {
	r.Helper()
	return must[stock.Written](r.T)(clients.ShardWrite(r.Context(), r.direct(events), id, rows, deletes, r.record)).Shard
}

// merge asks for a merge and waits until it is released.
func (r *rig) merge(t core.Target) core.History {
	r.Helper()
	return r.await(t, r.request(t))
}

// merged is merge, which must succeed.
func (r *rig) merged(t core.Target) core.History {
	r.Helper()
	h := r.merge(t)
	if !h.Merged {
		r.Fatalf("expected execution %d to merge, it failed: %v", h.Execution.Number, h.Failure)
	}
	return h
}

// request asks for a merge; executions that serve it have higher numbers than it returns.
func (r *rig) request(t core.Target) uint64 {
	r.Helper()
	after, err := r.node.Request(r.Context(), t)
	r.must(err)
	return after
}

func (r *rig) await(t core.Target, after uint64) core.History {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	h, err := r.node.Await(ctx, t, after)
	r.must(err)
	return h
}

// refusedRequest asks for a merge that must be refused with a failure of this code.
func (r *rig) refusedRequest(t core.Target, code core.Code) {
	r.Helper()
	_, err := r.node.Request(r.Context(), t)
	var f core.Failure
	if !errors.As(err, &f) || f.Code != code {
		r.Fatalf("expected the merge of %s to be refused with %s, got %v", t, code, err)
	}
}

// adopt is what `sluice adopt` does.
func (r *rig) adopt(t core.Target) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	a, err := r.node.Master.Adopt(ctx, t, false)
	r.must(err)
	if !a.Failure.OK() || a.Refused != core.ReasonNone {
		r.Fatalf("expected %s to be adopted, got %+v", t, a)
	}
}

// held waits until a put is held below the gate.
func (r *rig) held() *lake.HeldPut {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	p, err := r.puts.Next(ctx)
	r.must(err)
	return p
}

// until waits until the records of a target are as wanted.
func (r *rig) until(t core.Target, what string, want func(*core.TargetView) bool) *core.TargetView {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	v := core.NewView()
	for b := range r.kv.Watch(ctx, core.Everything(), 0) {
		if b.Reset {
			v = core.NewView()
		}
		v.Apply(b.Revision, b.Puts, b.Deletes)
		if tv := v.Target(t); want(tv) {
			return tv
		}
	}
	r.Fatalf("waited %v for %s: %s", patience, t, what)
	return nil
}

// records are those of a target right now.
func (r *rig) records(t core.Target) *core.TargetView {
	r.Helper()
	s, err := r.kv.KV.Read(r.Context(), core.Everything())
	r.must(err)
	return core.ViewOf(s.Revision, s.Records).Target(t)
}

// history is what became of the table's executions, by number.
func (r *rig) history(t core.Target) []core.History {
	r.Helper()
	s, err := r.kv.KV.Read(r.Context(), core.HistoryRange(t))
	r.must(err)
	var out []core.History
	for _, rec := range s.Records {
		h, err := core.Decode[core.History](rec.Key, rec.Value)
		r.must(err)
		out = append(out, h)
	}
	return out
}

// wantUncharged demands that nothing of the table counts as a failure.
func (r *rig) wantUncharged(t core.Target) {
	r.Helper()
	for _, f := range r.records(t).Failures {
		if f.Value.Attempts > 0 || f.Value.Attention {
			r.Fatalf("expected nothing to be charged, found %+v", f.Value)
		}
	}
}

// budget is the one failure record of a target.
func (r *rig) budget(t core.Target) core.FailureRecord {
	r.Helper()
	tv := r.records(t)
	if len(tv.Failures) != 1 {
		r.Fatalf("expected one failure record of %s, found %d", t, len(tv.Failures))
	}
	return tv.Failures[0].Value
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
	r.wantView(t, view)
	r.wantSame("the base", stock.BaseOf(r.direct(t)), "the writers' record", stock.File(r.record))
}

// wantView compares the base with what the view was, where others than the writers of shards have written.
func (r *rig) wantView(t core.Target, view stock.Source) {
	r.Helper()
	r.wantSame("the base", stock.BaseOf(r.direct(t)), "the view before", view)
}

func (r *rig) wantSame(what string, got stock.Source, name string, want stock.Source) {
	r.Helper()
	c, err := clients.Compare(r.Context(), want, got, r.key...)
	r.must(err)
	if !c.Equal {
		r.Fatalf("%s is not %s: %s", what, name, c)
	}
}

// look reads the table's manifests.
func (r *rig) look(t core.Target) core.Table {
	r.Helper()
	table, err := lance.ReadTable(r.Context(), r.files, t)
	r.must(err)
	return table
}

func (r *rig) pending(t core.Target) int {
	r.Helper()
	table, n := r.look(t), 0
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
