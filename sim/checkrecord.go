package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Checks of single records: budgets, the latch, progress, demand.

// budget checks that attempts go down only by a success of their own, or by the word of an operator.
func (c *checks) budget(t core.Txn, op core.Op, before map[string]core.Record) {
	was, now := decode[core.FailureRecord](before[op.Key]), decode[core.FailureRecord](core.Record{Key: op.Key, Value: op.Value})
	if c.untouched && now.Class == core.Config {
		c.fail(8, "a false alarm: %s %s", now.Code, now.LastError)
	}
	if now.Attempts > was.Attempts+1 {
		c.fail(5, "%s charges %s for %d attempts at once", t.Name, was.Endpoint, now.Attempts-was.Attempts)
	}
	if now.Attempts >= was.Attempts && (now.Attention || !was.Attention) {
		return
	}
	if t.Name == "forget" && c.words.forgets(was) {
		return
	}
	if h, ok := released(t); !ok || !h.Merged || h.Execution.Charge != was.Endpoint {
		c.fail(5, "%s lowers the budget of %s from %d to %d attempts", t.Name, was.Endpoint, was.Attempts, now.Attempts)
	}
}

// released is the history that a release writes.
func released(t core.Txn) (core.History, bool) {
	for _, o := range t.Then {
		if strings.HasPrefix(o.Key, core.Root+"history/") && o.Op == core.OpPut {
			return decode[core.History](core.Record{Key: o.Key, Value: o.Value}), true
		}
	}
	return core.History{}, false
}

// mode checks that the latch goes down by a person's word alone, or from draining to owned.
func (c *checks) mode(t core.Txn, op core.Op, before map[string]core.Record) {
	if t.Name == "mode" { // a person's
		return
	}
	was, now := decode[core.Latch](before[op.Key]), decode[core.Latch](core.Record{Key: op.Key, Value: op.Value})
	if op.Op != core.OpPut || was.Mode != "" && now.Mode == core.Direct {
		c.fail(6, "%s takes the latch from %q to %q", t.Name, was.Mode, now.Mode)
	}
}

// progressed remembers when completed work was recorded last.
func (c *checks) progressed(t core.Txn, op core.Op) {
	if op.Op == core.OpPut && t.Name == "progress" {
		c.progress[decode[core.Progress](core.Record{Key: op.Key, Value: op.Value}).Execution] = c.w.now
	}
}

// frozen checks that an execution is not frozen by others for a lack of progress while it makes some, be it between
// their judgement and the freeze.
func (c *checks) frozen(was, now core.Execution) {
	if sent, by := c.freezing[was.ID]; by && now.End != nil && was.Phase == core.Running && now.By != was.Instance {
		probed := now.End.Code == core.CodeWorkerGone && strings.Contains(now.End.Detail, "probes")
		at, any := c.progress[was.ID]
		if any && probed && len(c.leapt) == 0 && c.stands(was) && c.w.now.Since(at) < c.leastProbe {
			c.fail(7, "%s is frozen by probes alone, %v after it completed something", was.ID, c.w.now.Since(at))
		}
		if any && at > sent && (probed || now.End.Code == core.CodeNoProgress) {
			c.fail(7, "%s is frozen for %s, and has completed something since that was judged", was.ID, now.End.Code)
		}
	}
	if now.End == nil || now.End.Code != core.CodeNoProgress || was.Phase != core.Running || now.By == was.Instance {
		return
	}
	at, any := c.progress[was.ID]
	if any && c.leastPatience > 0 && c.w.now.Since(at) < c.leastPatience*3/4 {
		c.fail(7, "%s is frozen for no progress %v after it made some", was.ID, c.w.now.Since(at))
	}
}

// stands reports whether the worker of an execution has been registered ever since that was reserved.
func (c *checks) stands(e core.Execution) bool {
	rec := c.w.kv.Get(core.WorkerKey(e.Endpoint))
	return rec.Mod > 0 && rec.Mod < c.reservedAt[e.ID] && decode[core.WorkerRecord](rec).Instance == e.Instance
}

// idle checks an engine that reports the same again and again: that must not keep it going.
func (c *checks) idle(en *engine) {
	if en.proc.paused {
		return // its worker hears nothing of it
	}
	since := c.w.now.Since(max(en.worked, en.proc.woke))
	if c.noProgress > 0 && since > max(c.noProgress, c.longest)*5/4+time.Minute {
		c.fail(7, "%s goes on %v after it completed anything, by its heartbeats alone", en.name(), since)
	}
}

// demand checks that what was asked for is not forgotten: shards leave the demand into an execution, and
// come back from one that left something of its plan undone.
func (c *checks) demand(t core.Txn, before map[string]core.Record) {
	h, ok := released(t)
	if !ok {
		return
	}
	e := h.Execution
	switch {
	case h.Merged && e.Kind.Maintains():
		c.w.cover["maintained"]++
	case h.Merged:
		c.w.cover["merged"]++
		c.merged[e.Target]++
		c.lying(e)
	}
	c.unpaid(t, h, before)
	tb := c.w.lake.tables[e.Target]
	if tb == nil || tb.rewritten || c.aside[e.Target] || e.Kind == core.KindSelf { // a writer looks for itself
		return
	}
	d := Get[core.Demand](c.w.kv, core.DemandKey(e.Target))
	for _, s := range tb.shards {
		if !slices.Contains(e.Shards, s.id) || slices.Contains(d.Shards, s.id) {
			continue
		}
		last := planned(e, s.id)
		if last == 0 {
			continue // it had nothing to plan, or could not look: the next sweep asks for it
		}
		if tb.head().Marks.Of(s.id) < last {
			c.fail(8, "the demand for %s of %s is lost: execution %d gave it back unmerged", s.id, e.Target, e.Number)
		}
	}
}

func planned(e core.Execution, s core.ShardID) core.Generation {
	for _, p := range e.Plan {
		if p.Shard == s {
			return p.Last
		}
	}
	return 0
}

// lying checks that an execution that is called a success is one.
func (c *checks) lying(e core.Execution) {
	tb := c.w.lake.tables[e.Target]
	if tb == nil || tb.rewritten || c.aside[e.Target] {
		return
	}
	for _, p := range e.Plan {
		if tb.head().Marks.Of(p.Shard) < p.Last {
			c.fail(4, "execution %d of %s is called merged, but the mark of %s is below %d", e.Number, e.Target, p.Shard, p.Last)
		}
	}
}

// unpaid checks that a failure that counts is charged in the very transaction that gives the table back.
func (c *checks) unpaid(t core.Txn, h core.History, before map[string]core.Record) {
	e := h.Execution
	free := slices.Contains([]core.Code{core.CodeOK, core.CodeQueueLimit, core.CodeCancelled, core.CodeStale}, h.Failure.Code)
	if h.Merged {
		return
	}
	key := core.FailureKey(e.Target, e.Charge)
	now := Get[core.FailureRecord](c.w.kv, key)
	was := now
	if rec, touched := before[key]; touched {
		was = decode[core.FailureRecord](rec)
	}
	if (now.Attempts != was.Attempts+1) != free {
		c.fail(5, "execution %d of %s ended with %s, and the budget goes from %d to %d attempts", e.Number, e.Target, h.Failure.Code, was.Attempts, now.Attempts)
	}
}
