package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// merging follows the merge of one table by the HTTP API, of this process or of another: there is one way to
// see what happens.
type merging struct {
	api    rest.Client
	target core.Target
	// own: the process at api is this one, and has just declared that it owns the target.
	own  bool
	show bars

	result mergeResult
	after  uint64 // the newest execution that has been reported
	failed int    // attempts that failed, one after the other
	total  int64  // rows that were pending
	done   atomic.Int64
}

const (
	maxAttempts = 3
	pollEvery   = 100 * time.Millisecond
	// declareLimit is how long our own declaration may take to come round.
	declareLimit = 10 * time.Second
)

func (m *merging) run(ctx context.Context) (mergeResult, error) {
	began := time.Now()
	m.result = mergeResult{Target: m.target, Executions: []mergeExecution{}}
	err := m.follow(ctx)
	if err != nil && ctx.Err() != nil {
		err = m.interrupted() // whatever it broke off
	}
	m.result.Seconds = time.Since(began).Seconds()
	switch {
	case err != nil:
		m.result.Outcome = outcomeFailed
		f := core.Failure{Detail: err.Error()}
		var p *rest.Problem
		if errors.As(err, &p) {
			f = core.Failure{Code: p.Code, Detail: p.Detail}
		}
		errors.As(err, &f)
		m.result.Failure = &f
		err = fmt.Errorf("merge %s: %w", m.target, err)
	case m.result.Generations == 0:
		m.result.Outcome = outcomeNothing
	default:
		m.result.Outcome = outcomeMerged
	}
	return m.result, err
}

func (m *merging) follow(ctx context.Context) error {
	before, err := m.api.Target(ctx, m.target)
	if err != nil {
		return err
	}
	m.result.From, m.result.To, m.total = before.Base, before.Base, before.Pending.Rows
	if before.Broken != nil {
		return *before.Broken
	}
	if before.Pending.Generations == 0 {
		return nil
	}
	// Executions that are over by now are not ours; one that runs may be.
	past, err := m.api.Executions(ctx, m.target, 0)
	if err != nil {
		return err
	}
	if len(past) > 0 {
		m.after = past[len(past)-1].Execution.Number
	}
	// Who types the command may have mended what was wrong: the first attempt waits for no budget.
	if err := m.ask(ctx, true); err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		m.show.watch(watching, string(m.target), func() (int64, int64) { return m.done.Load(), m.total })
	}()
	defer func() { stop(); <-shown }()
	for {
		if err := m.await(ctx); err != nil {
			return err
		}
		if over, err := m.look(ctx, before); over || err != nil {
			return err
		}
		if err := m.ask(ctx, false); err != nil {
			return err
		}
	}
}

// ask asks for a merge. Our own process may not have heard its own declaration yet.
func (m *merging) ask(ctx context.Context, now bool) error {
	until := time.Now().Add(declareLimit)
	for {
		_, err := m.api.Merge(ctx, m.target, now)
		var p *rest.Problem
		early := errors.As(err, &p) && (p.Reason == core.ReasonNotSelected || p.Reason == core.ReasonModeDisagreement || p.Reason == core.ReasonLatched)
		if !early || !m.own || time.Now().After(until) {
			return err
		}
		if err := m.pause(ctx); err != nil {
			return err
		}
	}
}

// await waits until an execution is over, and judges it.
func (m *merging) await(ctx context.Context) error {
	for {
		over, err := m.api.Executions(ctx, m.target, m.after)
		if err != nil {
			return err
		}
		for _, h := range over {
			if err := m.judge(h); err != nil {
				return err
			}
		}
		if len(over) > 0 {
			return nil
		}
		p, err := m.api.Progress(ctx, m.target)
		if err != nil {
			return err
		}
		if p.Running == nil {
			if err := stuck(p); err != nil {
				return err
			}
			if p.Reason == core.ReasonNoDemand {
				return nil // somebody else has merged it meanwhile: look
			}
		} else {
			m.done.Store(max(m.done.Load(), min(m.result.Rows+p.Counters.Rows, m.total)))
		}
		if err := m.pause(ctx); err != nil {
			return err
		}
	}
}

// judge takes the outcome of one execution. An error means that there is no use in waiting for another.
func (m *merging) judge(h core.History) error {
	m.after = h.Execution.Number
	m.result.Executions = append(m.result.Executions, mergeExecution{
		Number: h.Execution.Number, ID: h.Execution.ID, Merged: h.Merged, Code: h.Failure.Code, Detail: h.Failure.Detail,
	})
	if h.Merged {
		m.failed = 0
		return nil
	}
	m.failed++
	switch {
	case h.Failure.Code.Class() == core.Data && h.Failure.Shard != "":
		return nil // the other shards go on at once; look says when only bad ones are left
	case h.Failure.Code.Class() != core.Transient || m.failed >= maxAttempts:
		return h.Failure
	}
	return nil
}

// look counts what is done. over means that nothing is pending; an error, that only bad shards are.
func (m *merging) look(ctx context.Context, before rest.Target) (over bool, err error) {
	now, err := m.api.Target(ctx, m.target)
	if err != nil {
		return false, err
	}
	if now.Broken != nil {
		return false, *now.Broken
	}
	m.result.To = now.Base
	m.result.Generations, m.result.Rows = 0, 0
	for _, s := range before.Pending.Shards {
		left := slices.IndexFunc(now.Pending.Shards, func(n rest.PendingShard) bool { return n.Shard == s.Shard })
		if left < 0 {
			m.result.Generations += s.Generations
			m.result.Rows += s.Rows
			continue
		}
		// NB: writers go on writing; what came since is not part of what was pending before.
		n := now.Pending.Shards[left]
		if n.Mark > s.Mark {
			m.result.Generations += min(s.Generations, int(n.Mark-s.Mark))
			m.result.Rows += max(0, s.Rows-n.Rows)
		}
	}
	m.done.Store(max(m.done.Load(), m.result.Rows))
	if now.Pending.Generations == 0 {
		return true, nil
	}
	return false, onlyBad(now)
}

// pause waits for the next look.
func (m *merging) pause(ctx context.Context) error {
	select {
	case <-time.After(pollEvery):
		return nil
	case <-ctx.Done():
		return m.interrupted()
	}
}

func (m *merging) interrupted() error {
	if m.own {
		return errors.New("interrupted: what runs is cancelled, and nothing is lost")
	}
	return fmt.Errorf("interrupted: the process at %s goes on with it", m.api.URL)
}
