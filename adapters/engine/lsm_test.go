package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/core"
)

const (
	shardA core.ShardID = "aaaaaaaa-0000-4000-8000-000000000001"
	shardB core.ShardID = "bbbbbbbb-0000-4000-8000-000000000002"
)

// What the tests share: importing pylance once is enough for the side that makes and checks tables.
var (
	python string
	lsm    *lsmServer
	merger *engine.Engine
)

func TestMain(m *testing.M) {
	if python := os.Getenv(workerEnv); python != "" {
		os.Exit(runAsWorker(python))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if python, err = engine.FindPython(context.Background(), ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if lsm, err = startLSM(python); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer lsm.close()
	if merger, err = engine.New(engine.Config{Python: python}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer merger.Close()
	return m.Run()
}

// lsmServer is testdata/lsm.py.
type lsmServer struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startLSM(python string) (*lsmServer, error) {
	s := &lsmServer{cmd: exec.CommandContext(context.Background(), python, "-B", "testdata/lsm.py")}
	s.cmd.Env = append(os.Environ(), "LANCE_LOG=error,lance::index=off")
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	return s, s.cmd.Start()
}

func (s *lsmServer) close() {
	s.in.Close()
	s.cmd.Wait()
}

type args map[string]any

// call asks the server and decodes its answer into result (nil: there is none).
func (s *lsmServer) call(t *testing.T, result any, op string, a args) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	line, err := json.Marshal(map[string]any{"op": op, "args": a})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := s.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var a2 struct {
		OK    json.RawMessage
		Error string
	}
	if err := json.Unmarshal(answer, &a2); err != nil || a2.Error != "" {
		t.Fatalf("lsm.py %s: %s %v", op, a2.Error, err)
	}
	if result != nil {
		if err := json.Unmarshal(a2.OK, result); err != nil {
			t.Fatal(err)
		}
	}
}

// row is a row of a test table: column to value.
type row = map[string]any

// table is a test table in a directory of its own.
type table struct {
	t   *testing.T
	dir string
}

// newTable makes a table with a MemWAL. columns are name, type, name, type, …
func newTable(t *testing.T, key []string, base []row, columns ...string) table {
	t.Helper()
	tb := table{t, filepath.Join(t.TempDir(), "events.lance")}
	lsm.call(t, nil, "make", args{"dir": tb.dir, "columns": slices.Collect(slices.Chunk(columns, 2)), "key": key, "rows": base, "lsm": true})
	return tb
}

// put writes one generation: the rows, then the deletes.
func (tb table) put(s core.ShardID, rows []row, deletes ...row) {
	tb.t.Helper()
	tb.generation(s, rows, deletes, "delete last")
}

func (tb table) generation(s core.ShardID, rows, deletes []row, order string) {
	tb.t.Helper()
	if rows == nil {
		rows = []row{}
	}
	if deletes == nil {
		deletes = []row{}
	}
	lsm.call(tb.t, nil, "put", args{"dir": tb.dir, "shard": s, "rows": rows, "delete": deletes, "order": order})
}

type baseState struct {
	Version core.Version
	Rows    []row
}

func (tb table) base() (b baseState) {
	tb.t.Helper()
	lsm.call(tb.t, &b, "base", args{"dir": tb.dir})
	return b
}

// view is what a reader sees now, according to Lance's own LSM scanner.
func (tb table) view(shards ...core.ShardID) (rows []row) {
	tb.t.Helper()
	lsm.call(tb.t, &rows, "view", args{"dir": tb.dir, "shards": shards})
	return rows
}

func (tb table) marked(s core.ShardID, g core.Generation) (yes bool) {
	tb.t.Helper()
	lsm.call(tb.t, &yes, "marked", args{"dir": tb.dir, "shard": s, "generation": g})
	return yes
}

// job merges all generations of the shards.
func (tb table) job(shards ...core.ShardID) engine.Job {
	tb.t.Helper()
	j := engine.Job{URI: tb.dir, BaseVersion: 1}
	for _, s := range shards {
		var generations []engine.Generation
		lsm.call(tb.t, &generations, "shard", args{"dir": tb.dir, "shard": s})
		j.Shards = append(j.Shards, engine.Shard{Shard: s, Generations: generations})
	}
	return j
}

func newEngine(t *testing.T, cfg engine.Config) *engine.Engine {
	t.Helper()
	cfg.Python, cfg.TempDir = python, t.TempDir()
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(cfg.TempDir); len(left) > 0 {
			t.Errorf("a closed engine left %v in its TempDir", left)
		}
	})
	return e
}

// ended is all that one process reported.
type ended struct {
	plan     engine.Plan
	progress []engine.Progress
	done     engine.Done
	failure  core.Failure
}

func start(t *testing.T, e *engine.Engine, j engine.Job) *engine.Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := e.Start(ctx, j)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// follow reads a process to its end and lets it commit once atPlan has run.
func follow(t *testing.T, p *engine.Process, atPlan func(engine.Plan)) (r ended) {
	t.Helper()
	for ev := range p.Events() {
		switch ev := ev.(type) {
		case engine.Progress:
			r.progress = append(r.progress, ev)
		case engine.Plan:
			r.plan = ev
			if atPlan != nil {
				atPlan(ev)
			}
			if err := p.Go(); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Logf("go: %v", err)
			}
		case engine.Done:
			r.done = ev
		case engine.Failed:
			r.failure = ev.Failure
		}
	}
	return r
}

// merge runs a job to its end.
func merge(t *testing.T, j engine.Job) ended {
	t.Helper()
	return follow(t, start(t, merger, j), nil)
}

func wantRows(t *testing.T, got, want []row) {
	t.Helper()
	g, w := lines(got), lines(want)
	if !slices.Equal(g, w) {
		t.Errorf("rows differ\n got %v\nwant %v", g, w)
	}
}

func lines(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		b, _ := json.Marshal(r)
		out[i] = string(b)
	}
	slices.Sort(out)
	return out
}

func wantCode(t *testing.T, got core.Failure, want core.Code) {
	t.Helper()
	if got.Code != want {
		t.Errorf("code %q (%s), want %q", got.Code, got.Detail, want)
	}
}
