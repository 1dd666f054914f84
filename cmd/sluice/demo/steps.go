package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// before is what is known of a table before a step.
type before struct {
	target core.Target
	view   stock.Source
	table  core.Table
	began  time.Time
}

// mergeBoth merges both tables.
func (s *show) mergeBoth(ctx context.Context) error {
	s.Say("step 1: both tables are merged")
	for _, t := range []core.Target{orders, stocks} {
		b, err := s.look(ctx, t)
		if err != nil {
			return err
		}
		if err := s.merge(ctx, b, 1); err != nil {
			return err
		}
		if err := s.report(ctx, b, "1 merge", ""); err != nil {
			return err
		}
	}
	return nil
}

// lateCommit holds the commit of a merge below the gate, after its admission, until a second execution has
// merged; then it lets it go.
func (s *show) lateCommit(ctx context.Context) error {
	s.Say("step 2: a commit is held below the gate, after its admission, as a slow network would")
	if err := s.more(ctx, orders, 4); err != nil {
		return err
	}
	b, err := s.look(ctx, orders)
	if err != nil {
		return err
	}
	s.below.next(orders, "_versions")
	merging := make(chan error, 1)
	go func() { merging <- s.merge(ctx, b, 2) }()
	put, err := s.below.taken(ctx)
	if err != nil {
		return err
	}
	s.Say("        held: %s; its execution makes no progress, is cancelled, frozen and fenced", filepath.Base(put.Key))
	if err := <-merging; err != nil {
		late(put)
		return err
	}
	words, refused := late(put)
	s.Say("        a second execution has merged; the held commit is let go: %s", words)
	if err := s.report(ctx, b, "2 late commit", words); err != nil {
		return err
	}
	if !refused {
		return fmt.Errorf("the late commit of %s was not refused by the lake: %s", put.Key, words)
	}
	return nil
}

// killedEngine kills the engine with SIGKILL while it writes the rows of a merge.
func (s *show) killedEngine(ctx context.Context) error {
	s.Say("step 3: the engine is killed in the middle of a merge")
	if err := s.more(ctx, stocks, 4); err != nil {
		return err
	}
	b, err := s.look(ctx, stocks)
	if err != nil {
		return err
	}
	s.below.next(stocks, "data")
	merging := make(chan error, 1)
	go func() { merging <- s.merge(ctx, b, 2) }()
	put, err := s.below.taken(ctx)
	if err != nil {
		return err
	}
	pid := s.node.Worker.EnginePID(stocks)
	if pid == 0 {
		return fmt.Errorf("the engine of %s has gone before it could be killed", stocks)
	}
	s.Say("        SIGKILL to engine process %d while it writes; the next attempt follows in 2 s", pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill engine process %d: %w", pid, err)
	}
	if words, _ := late(put); words != "LANDED" { // a file that nobody names: what a dead engine leaves
		return fmt.Errorf("the engine's data could not be written: %s", words)
	}
	if err := <-merging; err != nil {
		return err
	}
	return s.report(ctx, b, "3 killed engine", "")
}

// look saves the LSM view as pylance's own scanner shows it, and what stands in the manifests.
func (s *show) look(ctx context.Context, t core.Target) (before, error) {
	view := filepath.Join(s.dir, t.Segment()+".view")
	if _, err := s.clients.View(ctx, s.table(t), view); err != nil {
		return before{}, err
	}
	table, err := lance.ReadTable(ctx, s.node.Lake, t)
	if err != nil {
		return before{}, err
	}
	return before{target: t, view: stock.File(view), table: table, began: time.Now()}, nil
}

// merge asks for a merge and waits until one of at most so many executions has merged.
func (s *show) merge(ctx context.Context, b before, executions int) error {
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	after, err := s.node.Request(ctx, b.target)
	if err != nil {
		return err
	}
	watched, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	var merged atomic.Bool
	wait.Go(func() {
		s.Watch(watched, string(b.target), func() (done, total int64) {
			done, total = s.progress(watched, b)
			if merged.Load() {
				done = total
			}
			return done, total
		})
	})
	defer wait.Wait()
	defer stop()
	var h core.History
	for range executions {
		if h, err = s.node.Await(ctx, b.target, after); err != nil {
			return err
		}
		if h.Merged {
			merged.Store(true)
			return nil
		}
		after = h.Execution.Number
	}
	return fmt.Errorf("%d executions of %s have not merged it: %w", executions, b.target, h.Failure)
}

// progress is how far the current execution of a table is.
func (s *show) progress(ctx context.Context, b before) (done, total int64) {
	for _, shard := range b.table.Shards {
		for _, st := range b.table.Pending(shard) {
			total += max(0, st.Rows)
		}
	}
	return min(total, s.node.Progress(ctx, b.target).Rows), total
}

// report compares the base with the view from before and with the writers' record, and adds a line for the
// table to the result.
func (s *show) report(ctx context.Context, b before, name, lateCommit string) error {
	step := Step{Step: name, Target: b.target, From: b.table.Base.Version, Late: lateCommit, Time: time.Since(b.began)}
	step.Seconds = step.Time.Seconds()
	table, err := lance.ReadTable(ctx, s.node.Lake, b.target)
	if err != nil {
		return err
	}
	step.To = table.Base.Version
	history, err := s.node.History(ctx, b.target)
	if err != nil {
		return err
	}
	for _, h := range history {
		if h.Execution.Number <= s.merged[b.target] {
			continue
		}
		s.merged[b.target] = h.Execution.Number
		step.Executions = append(step.Executions, Outcome{h.Execution.Number, h.Merged, h.Failure.Code})
		for _, f := range h.Execution.Fenced {
			step.Fences += f.Fences()
		}
	}
	step.Equal = !table.AnyPending()
	for _, want := range []stock.Source{b.view, stock.File(s.record(b.target))} {
		c, err := s.clients.Compare(ctx, want, stock.BaseOf(s.table(b.target)))
		if err != nil {
			return err
		}
		step.Rows = c.RightRows
		if !c.Equal {
			step.Equal, step.Differs = false, c.String()
		}
	}
	s.result.Steps = append(s.result.Steps, step)
	return nil
}
