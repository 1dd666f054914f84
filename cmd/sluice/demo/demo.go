// Package demo shows the protocol on real tables: the stock LanceDB client and pylance write, Sluice merges,
// a commit comes late, an engine is killed, and after each step the base is compared, row by row, with the
// LSM view from before and with the writers' own record. Neither shares code with the engine.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// Config says where and how to run.
type Config struct {
	// Lake is a directory that doesn't exist or is empty.
	Lake   string
	Python string
	// Say prints one line about what happens.
	Say func(format string, args ...any)
	// Watch shows a merge until the context that it is given ends: poll returns rows done and in all.
	Watch func(ctx context.Context, name string, poll func() (done, total int64))
	// Serve opens the HTTP API of the process.
	Serve func(ctx context.Context, n *embedded.Node) (stop func() error, err error)
	Log   *slog.Logger
}

// Result is what the demonstration has seen.
type Result struct {
	Lake    string  `json:"lake"`
	Steps   []Step  `json:"steps"`
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"`
}

// Step is one line of the result: what one table went through.
type Step struct {
	Step       string        `json:"step"`
	Target     core.Target   `json:"target"`
	Executions []Outcome     `json:"executions"`
	From       core.Version  `json:"from_version"`
	To         core.Version  `json:"to_version"`
	Fences     uint64        `json:"fences"`
	Late       string        `json:"late_commit,omitempty"`
	Rows       int           `json:"rows"`
	Equal      bool          `json:"equal"`
	Differs    string        `json:"differs,omitempty"`
	Time       time.Duration `json:"-"`
	Seconds    float64       `json:"seconds"`
}

// Outcome is how one execution ended.
type Outcome struct {
	Number uint64    `json:"number"`
	Merged bool      `json:"merged"`
	Code   core.Code `json:"code,omitempty"`
}

// The two tables: one that LanceDB writes, one that pylance's ShardWriter writes, with deletes.
const (
	orders core.Target = "shop/orders"
	stocks core.Target = "shop/stock"
)

// limits are short, so that nobody waits for minutes. Everything else is as it is in production.
var limits = core.Limits{
	NoProgress: 2 * time.Second, CancelGrace: time.Second, Barrier: 10 * time.Second,
	Poll: time.Hour, // nothing is merged before its step
}

// show is a running demonstration.
type show struct {
	Config
	dir     string // the writers' records and saved views, outside the lake
	node    *embedded.Node
	below   *below
	clients *stock.Clients
	merged  map[core.Target]uint64 // the newest execution that a step has reported
	result  Result
}

// ErrNotEqual says that some step did not hold; the result says which.
var ErrNotEqual = errors.New("the demonstration failed: see the table")

// Run plays all steps. The result is returned also when one fails.
func Run(ctx context.Context, cfg Config) (Result, error) {
	began := time.Now()
	s := &show{Config: cfg, merged: map[core.Target]uint64{}}
	s.result.Lake = cfg.Lake
	err := s.run(ctx)
	s.result.Seconds = time.Since(began).Seconds()
	s.result.OK = err == nil
	for _, step := range s.result.Steps {
		if !step.Equal && err == nil {
			s.result.OK, err = false, ErrNotEqual
		}
	}
	return s.result, err
}

func (s *show) run(ctx context.Context) (err error) {
	if err := freshDirectory(s.Lake); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "sluice-demo-"); err != nil {
		return fmt.Errorf("make a directory for the writers' records: %w", err)
	}
	defer os.RemoveAll(s.dir)
	s.Say("starting: bbolt, gate, worker, master, and the stock clients")
	if s.clients, err = stock.Start(ctx, s.Python); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.clients.Close()) }()
	s.below = newBelow()
	s.node, err = embedded.Open(ctx, embedded.Config{
		Lake: s.Lake, Python: s.Python, Owned: []core.Target{orders, stocks},
		Limits: limits, Below: s.below.wrap, Log: s.Log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.node.Close()) }()
	stop, err := s.Serve(ctx, s.node)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for _, step := range []func(context.Context) error{s.write, s.mergeBoth, s.lateCommit, s.killedEngine} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// freshDirectory makes the directory, or checks that it is an empty one.
func freshDirectory(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the demonstration's lake: %w", err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("%s can't be the demonstration's lake: %w; name a fresh directory", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: the demonstration needs a fresh directory", dir)
	}
	return nil
}

// write lets the stock clients make both tables, through the gate, with 20 generations each.
func (s *show) write(ctx context.Context) error {
	s.Say("the stock LanceDB client writes 20 generations of inserts and updates to %s", orders)
	if err := s.clients.CreateLSM(ctx, s.table(orders), stock.Rows{To: 1000}, s.record(orders)); err != nil {
		return err
	}
	if _, err := s.clients.WriteGenerations(ctx, s.table(orders), 20, 100, s.record(orders)); err != nil {
		return err
	}
	s.Say("pylance's ShardWriter writes 20 generations with deletes to %s", stocks)
	if err := s.clients.CreateSharded(ctx, s.table(stocks), stock.Rows{To: 1000}, s.record(stocks)); err != nil {
		return err
	}
	return s.more(ctx, stocks, 20)
}

// more writes further generations to a table.
func (s *show) more(ctx context.Context, t core.Target, generations int) error {
	if t == orders {
		_, err := s.clients.WriteGenerations(ctx, s.table(t), generations, 100, s.record(t))
		return err
	}
	_, err := s.clients.ShardGenerations(ctx, s.table(t), shard, generations, 100, s.record(t))
	return err
}

// shard is the one that the ShardWriter writes.
const shard = "6f1cf0a4-29a5-4c1e-a8a8-5d0b3f3d9d01"

// table is a table as its users reach it: through the gate.
func (s *show) table(t core.Target) stock.Table {
	return stock.Table{URI: "s3://lake/" + t.Path(), StorageOptions: s.node.Gate.StorageOptions(s.node.Client)}
}

func (s *show) record(t core.Target) string {
	return filepath.Join(s.dir, t.Segment()+".record")
}
