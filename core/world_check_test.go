package core_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// checks hold the world to the invariants of core/doc.go, after every step. A violation is remembered
// and fails the test, with the trace.
type checks struct {
	w *world
	// admitted are the highest versions admitted to each execution; open are those executions that have
	// one admitted and are neither recovered nor released.
	admitted map[core.ExecutionID]core.Version
	open     map[core.Target]core.ExecutionID
	targets  map[core.ExecutionID]core.Target
	broken   []string
	// untouched: nobody changes history behind our back, so no table may be said to have been replaced,
	// restored or merged by somebody else.
	untouched bool
	// aside: a person has changed the history of a table, and the rows are no longer comparable.
	aside map[core.Target]bool
}

func newChecks(w *world) *checks {
	c := &checks{
		w: w, admitted: map[core.ExecutionID]core.Version{}, open: map[core.Target]core.ExecutionID{},
		targets: map[core.ExecutionID]core.Target{}, aside: map[core.Target]bool{},
	}
	w.kv.observe = c.transaction
	return c
}

func (c *checks) fail(invariant int, format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf("invariant %d: %s", invariant, fmt.Sprintf(format, args...)))
}

// all checks what must hold at every moment: the rows that a reader sees are those that were written.
func (c *checks) all() {
	for _, name := range slices.Sorted(maps.Keys(c.w.lake.tables)) {
		if t := c.w.lake.tables[name]; !c.aside[name] && !maps.Equal(t.view(), t.truth) {
			c.fail(4, "the rows of %s at v%d are not those that were written", name, t.head().Version)
		}
	}
}

// landed checks a commit of an execution at the moment it takes effect.
func (c *checks) landed(a *attempt) {
	e := record[core.Execution](c.w.kv, core.ExecutionKey(a.target))
	if e.ID != a.engine.exec.ID || e.Phase == core.Recovered || e.Phase == core.Finished {
		c.fail(2, "v%d of %s landed while the table has %s %q", a.body.Version, a.engine.exec.ID, e.ID, e.Phase)
	}
	if c.admitted[a.engine.exec.ID] < a.body.Version {
		c.fail(3, "v%d of %s landed, admitted was v%d", a.body.Version, a.engine.exec.ID, c.admitted[a.engine.exec.ID])
	}
}

// fencing checks that a fence takes only an admitted number.
func (c *checks) fencing(f core.PutFence) {
	if f.Adopt || f.Resource != core.Base {
		return
	}
	if t := c.w.lake.tables[f.Target]; t != nil && f.Version == t.head().Version+1 && f.Version > c.admitted[f.Execution] {
		c.fail(3, "a fence of %s takes v%d, admitted was v%d", f.Execution, f.Version, c.admitted[f.Execution])
	}
}

// transaction checks one applied transaction against the records before it.
func (c *checks) transaction(t core.Txn, before map[string]core.Record) {
	for _, op := range t.Then {
		kind, _, _ := strings.Cut(strings.TrimPrefix(op.Key, core.Root), "/")
		switch kind {
		case "execution":
			c.execution(t, op, before)
		case "admitted":
			if t.Name == "admit" {
				c.admit(op)
			}
		case "failure":
			c.budget(t, op, before)
		case "mode":
			c.mode(t, op, before)
		}
	}
}

// execution checks that phases only go where the protocol lets them.
func (c *checks) execution(t core.Txn, op core.Op, before map[string]core.Record) {
	was, now := decodeExecution(before[op.Key].Value), decodeExecution(op.Value)
	legal := map[string]string{
		"reserve": ">reserved", "start": "reserved>running", "finish": "running>finished running>uncertain",
		"freeze":          "reserved>recovering running>recovering uncertain>recovering",
		"finish-recovery": "recovering>recovered", "release": "finished> recovered>",
	}
	step := string(was.Phase) + ">" + string(now.Phase)
	if !slices.Contains(strings.Fields(legal[t.Name]), step) {
		c.fail(1, "%s of %s goes %s", t.Name, was.ID, step)
	}
	if was.ID != "" && now.ID != "" && was.ID != now.ID {
		c.fail(1, "%s replaces %s by %s", t.Name, was.ID, now.ID)
	}
	if now.ID != "" {
		c.targets[now.ID] = now.Target
	}
	if now.Phase == core.Recovered || now.Phase == core.Finished || now.ID == "" {
		delete(c.open, was.Target)
	}
	if now.Phase == core.Recovered {
		if tb := c.w.lake.tables[now.Target]; tb != nil && tb.head().Version < c.admitted[now.ID] {
			c.fail(2, "%s recovered at v%d, admitted was v%d", now.ID, tb.head().Version, c.admitted[now.ID])
		}
	}
	if _, latched := before[core.ModeKey(now.Target)]; t.Name == "reserve" && now.Kind == core.KindSelf && latched {
		c.fail(6, "%s was reserved by a worker while %s is latched", now.ID, now.Target)
	}
	if t.Name == "reserve" && c.draining(now.Target, before) {
		c.fail(6, "%s was reserved while %s is draining", now.ID, now.Target)
	}
}

func (c *checks) draining(t core.Target, before map[string]core.Record) bool {
	r, ok := before[core.ModeKey(t)]
	if !ok {
		return false
	}
	latch, err := core.Decode[core.Latch](r.Key, r.Value)
	return err != nil || latch.Mode == core.Draining
}

func (c *checks) admit(op core.Op) {
	w, err := core.Decode[core.Watermarks](op.Key, op.Value)
	if err != nil {
		panic(err)
	}
	target := c.targets[w.Execution]
	if e := record[core.Execution](c.w.kv, core.ExecutionKey(target)); e.ID != w.Execution || e.Phase != core.Running {
		c.fail(1, "admitted v%d to %s while the table has %s %q", w.Of(core.Base), w.Execution, e.ID, e.Phase)
	}
	if other := c.open[target]; other != "" && other != w.Execution {
		c.fail(1, "admitted to %s while %s has a commit admitted", w.Execution, other)
	}
	c.open[target] = w.Execution
	c.admitted[w.Execution] = max(c.admitted[w.Execution], w.Of(core.Base))
}

// budget checks that attempts go down only by a success of their own.
func (c *checks) budget(t core.Txn, op core.Op, before map[string]core.Record) {
	was, now := decodeFailure(before[op.Key].Value), decodeFailure(op.Value)
	if c.untouched && now.Class == core.Config {
		c.fail(8, "a false alarm: %s %s", now.Code, now.LastError)
	}
	if now.Attempts >= was.Attempts && (now.Attention || !was.Attention) {
		return
	}
	merged := false
	for _, o := range t.Then {
		if strings.HasPrefix(o.Key, core.Root+"history/") && o.Op == core.OpPut {
			h, err := core.Decode[core.History](o.Key, o.Value)
			merged = merged || err == nil && h.Merged && h.Execution.Charge == was.Endpoint
		}
	}
	if !merged {
		c.fail(5, "%s lowers the budget of %s from %d to %d attempts", t.Name, was.Endpoint, was.Attempts, now.Attempts)
	}
}

// mode checks that the latch only goes up, or from draining to owned.
func (c *checks) mode(t core.Txn, op core.Op, before map[string]core.Record) {
	if op.Op != core.OpPut && t.Name != "mode" {
		c.fail(6, "%s removes a latch", t.Name)
	}
}

func decodeExecution(value string) core.Execution { return decodeOr[core.Execution](value) }

func decodeFailure(value string) core.FailureRecord { return decodeOr[core.FailureRecord](value) }

func decodeOr[R any](value string) (r R) {
	if value == "" {
		return r
	}
	r, err := core.Decode[R]("", value)
	if err != nil {
		panic(err)
	}
	return r
}
