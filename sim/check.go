package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// checks hold the world to the invariants of core's documentation, after every step. A violation is
// remembered and ends the run. Which one holds which:
//
//	1  execution (phases, one at a time), admit
//	2  landed, execution (no version free below the watermark when it is recovered), admit
//	3  landed, fencing
//	4  step (the rows of every view), landed (what else a version may not lose), lying, reader
//	5  budget, unpaid, reserved
//	6  execution (nobody reserves while draining, no writer while owned), mode, policy, comesDown
//	7  frozen, idle, execution (its time limit)
//	8  demand, budget (no false alarm), and the end of the run
//	9  letThrough (nothing goes to storage that the KV has not recorded)
//	10 deleted, reader
type checks struct {
	w *world
	// admitted are the highest versions admitted to each execution; open are those executions that have
	// one admitted and are neither recovered nor released.
	admitted   map[core.ExecutionID]core.Version
	occupied   map[core.ExecutionID]core.Version // in a table that has been replaced since
	open       map[core.Target]core.ExecutionID
	targets    map[core.ExecutionID]core.Target
	recent     []core.ExecutionID
	merged     map[core.Target]int
	progress   map[core.ExecutionID]core.MonoTime // when completed work was recorded last
	freezing   map[core.ExecutionID]core.MonoTime // when a freeze was sent last
	reservedAt map[core.ExecutionID]core.Revision
	leastProbe time.Duration // how often the most eager master probes
	// noProgress is the limit that the fleet has; 0 turns off what needs it.
	noProgress, mayRun time.Duration
	leastPatience      time.Duration          // the shortest of these limits that a master has
	longest            time.Duration          // the limit on no progress of the process that has the longest
	leapt              map[core.Instance]bool // whose monotonic clock has shown more time than had passed
	leap               core.MonoTime          // when one did last
	began              map[core.ExecutionID]core.MonoTime
	broken             []string
	// untouched: nobody changes history behind our back, so no table may be said to have been replaced,
	// restored or merged by somebody else.
	untouched bool
	// aside: a person has changed the history of a table, and the rows are no longer comparable.
	aside  map[core.Target]bool
	fanOut fanOutChecks
	words  words // of operators
}

func newChecks(w *world) *checks {
	c := &checks{
		w: w, admitted: map[core.ExecutionID]core.Version{}, occupied: map[core.ExecutionID]core.Version{}, open: map[core.Target]core.ExecutionID{},
		progress: map[core.ExecutionID]core.MonoTime{}, freezing: map[core.ExecutionID]core.MonoTime{}, reservedAt: map[core.ExecutionID]core.Revision{},
		began: map[core.ExecutionID]core.MonoTime{}, leapt: map[core.Instance]bool{},
		merged:  map[core.Target]int{},
		targets: map[core.ExecutionID]core.Target{}, aside: map[core.Target]bool{}, fanOut: newFanOutChecks(), words: words{},
	}
	w.kv.observe = c.transaction
	return c
}

// broke remembers what no invariant names: a history that can't be.
func (c *checks) broke(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

func (c *checks) fail(invariant int, format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf("invariant %d: %s", invariant, fmt.Sprintf(format, args...)))
}

// step checks what must hold at every moment: the rows that a reader sees are those that were written.
func (c *checks) step() {
	for _, name := range c.w.lake.order {
		t := c.w.lake.tables[name]
		if t == nil || !t.dirty { // one that was dropped has no rows
			continue
		}
		t.dirty = false
		if !c.aside[name] && !maps.Equal(t.view(), t.truth) {
			c.fail(4, "the rows of %s at v%d are not those that were written", name, t.head().Version)
		}
	}
}

// landed checks a commit of an execution at the moment it takes effect.
func (c *checks) landed(a *attempt) {
	e := Get[core.Execution](c.w.kv, core.ExecutionKey(a.target))
	if e.ID != a.engine.exec.ID || e.Phase == core.Recovered || e.Phase == core.Finished {
		c.fail(2, "v%d of %s landed while the table has %s %q", a.body.Version, a.engine.exec.ID, e.ID, e.Phase)
	}
	if c.admitted[a.engine.exec.ID] < a.body.Version {
		c.fail(3, "v%d of %s landed, admitted was v%d", a.body.Version, a.engine.exec.ID, c.admitted[a.engine.exec.ID])
	}
	switch was := a.table.shown(1); {
	case !a.body.MemWAL:
		c.fail(4, "v%d of %s has lost the MemWAL index, and with it every mark", a.body.Version, a.target)
	case a.body.TableID != was.TableID || a.body.Scheme != was.Scheme || a.body.UnknownFlags != was.UnknownFlags:
		c.fail(4, "v%d of %s is another table's", a.body.Version, a.target)
	case a.engine.exec.Kind.Maintains():
		c.upkeep(a)
	case a.body.Operation != core.OpUpdate:
		c.fail(4, "v%d of %s is a commit of kind %s", a.body.Version, a.target, a.body.Operation)
	}
	if e.Phase == core.Recovering {
		c.w.cover.rare("a late put lands during the barrier")
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

// transaction checks one applied transaction against what its keys held before.
func (c *checks) transaction(t core.Txn, before map[string]core.Record) {
	for _, op := range t.Then {
		if op.Op != core.OpPut {
			c.deleted(t, op, before)
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(op.Key, core.Root), "/")
		switch kind {
		case "execution":
			c.execution(t, op, before)
		case "admitted":
			if t.Name == "admit" {
				c.admit(op, before)
			}
		case "failure":
			c.fanOut.charged[op.Key] = c.w.now
			c.budget(t, op, before)
		case "mode":
			c.mode(t, op, before)
		case "policy":
			c.policy(t, op, before)
		case "progress":
			c.progressed(t, op)
		}
	}
	c.demand(t, before)
}

// steps are the phases that each transaction leads from and to.
var steps = map[string]string{
	"reserve": ">reserved", "start": "reserved>running", "finish": "running>finished running>uncertain",
	"freeze":          "reserved>recovering running>recovering uncertain>recovering",
	"finish-recovery": "recovering>recovered", "release": "finished> recovered>",
}

// execution checks that phases only go where the protocol lets them.
func (c *checks) execution(t core.Txn, op core.Op, before map[string]core.Record) {
	was, now := decode[core.Execution](before[op.Key]), decode[core.Execution](core.Record{Key: op.Key, Value: op.Value})
	c.w.charted(t.Name, was, now)
	step := string(was.Phase) + ">" + string(now.Phase)
	if !slices.Contains(strings.Fields(steps[t.Name]), step) {
		c.fail(1, "%s of %s goes %s", t.Name, was.ID, step)
	}
	c.w.cover.phase(now.Phase)
	if was.ID != "" && now.ID != "" && was.ID != now.ID {
		c.fail(1, "%s replaces %s by %s", t.Name, was.ID, now.ID)
	}
	if t.Name == "reserve" && c.targets[now.ID] != "" {
		c.fail(1, "execution %s is reserved a second time", now.ID)
	}
	if now.ID != "" {
		c.targets[now.ID] = now.Target
	}
	if t.Name == "reserve" {
		c.reservedAt[now.ID] = c.w.kv.rev
		c.remember(now.ID)
	}
	if now.Phase == core.Recovered || now.Phase == core.Finished || now.ID == "" {
		delete(c.open, was.Target)
	}
	if now.Phase == core.Recovered {
		if tb := c.w.lake.tables[now.Target]; tb != nil && max(tb.head().Version, c.occupied[now.ID]) < c.admitted[now.ID] && !c.aside[now.Target] {
			c.fail(2, "%s recovered at v%d, admitted was v%d", now.ID, tb.head().Version, c.admitted[now.ID])
		}
	}
	if t.Name == "reserve" && now.Kind == core.KindSelf && c.owned(now.Target) {
		c.fail(6, "%s was reserved by a worker while %s is owned", now.ID, now.Target)
	}
	if t.Name == "reserve" && c.draining(now.Target) {
		c.fail(6, "%s was reserved while %s is draining", now.ID, now.Target)
	}
	switch {
	case t.Name == "reserve":
		c.reserved(now)
	case t.Name == "start":
		c.began[now.ID] = c.w.now
	case t.Name == "finish" && now.End != nil && now.End.Code == core.CodeTimeLimit:
		if ran := c.w.now.Since(c.began[now.ID]); ran < c.mayRun*4/5 && !c.leapt[now.Instance] {
			c.fail(7, "%s is ended for its time after %v", now.ID, ran)
		}
	}
	if t.Name == "freeze" {
		c.frozen(was, now)
	}
}

// keptExecutions is how many executions, the latest, the checks know of. What lands or is reserved again comes much
// sooner, and a run of days must not need more memory than one of an hour.
const keptExecutions = 1024

// remember takes note of an execution, and forgets the oldest one.
func (c *checks) remember(e core.ExecutionID) {
	c.recent = append(c.recent, e)
	if len(c.recent) <= keptExecutions {
		return
	}
	old := c.recent[0]
	c.recent = c.recent[1:]
	delete(c.admitted, old)
	delete(c.occupied, old)
	delete(c.targets, old)
	delete(c.progress, old)
	delete(c.freezing, old)
	delete(c.reservedAt, old)
	delete(c.began, old)
}

// owned reports whether a latch or a policy keeps a table from being merged by its writers.
func (c *checks) owned(t core.Target) bool {
	return Get[core.Latch](c.w.kv, core.ModeKey(t)).Mode == core.Owned || Get[core.Policy](c.w.kv, core.PolicyKey(t)).Mode == core.Owned
}

func (c *checks) draining(t core.Target) bool {
	return Get[core.Latch](c.w.kv, core.ModeKey(t)).Mode == core.Draining ||
		Get[core.Policy](c.w.kv, core.PolicyKey(t)).Mode == core.Draining
}

func (c *checks) admit(op core.Op, before map[string]core.Record) {
	w := decode[core.Watermarks](core.Record{Key: op.Key, Value: op.Value})
	if was := decode[core.Watermarks](before[op.Key]); was.Execution == w.Execution && was.Of(core.Base) > w.Of(core.Base) {
		c.fail(2, "the watermark of %s falls from v%d to v%d", w.Execution, was.Of(core.Base), w.Of(core.Base))
	}
	target := c.targets[w.Execution]
	if e := Get[core.Execution](c.w.kv, core.ExecutionKey(target)); e.ID != w.Execution || e.Phase != core.Running {
		c.fail(1, "admitted v%d to %s while the table has %s %q", w.Of(core.Base), w.Execution, e.ID, e.Phase)
	}
	if other := c.open[target]; other != "" && other != w.Execution {
		c.fail(1, "admitted to %s while %s has a commit admitted", w.Execution, other)
	}
	c.open[target] = w.Execution
	c.admitted[w.Execution] = max(c.admitted[w.Execution], w.Of(core.Base))
}

// letThrough checks that a commit goes to storage only after the KV has recorded its version, which it can't
// while it is down.
func (c *checks) letThrough(a *attempt) {
	if e := a.engine.exec.ID; c.admitted[e] < a.body.Version {
		c.fail(9, "v%d of %s goes to storage, and the KV has recorded v%d", a.body.Version, e, c.admitted[e])
	}
}
