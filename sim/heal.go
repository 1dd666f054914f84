package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// How a run ends: a master, a worker, the KV and the lake become whole, everything else stays as broken as
// it is, and whatever can be merged must be.

// commit1 is a transaction of somebody who is no process of the fleet.
func (w *world) commit1(t core.Txn) bool {
	op := w.history.begin("operator", core.Commit{Txn: t})
	outcome := core.NotApplied
	if w.kv.Apply(t, "") {
		outcome = core.Applied
	}
	reply := core.Committed{Outcome: outcome, Revision: w.kv.rev}
	w.history.replied(op, reply)
	w.history.answered(op, reply)
	w.changed()
	return outcome == core.Applied
}

// heal ends the faults of the core of the fleet. What was sent long ago still arrives when it likes.
func (r *run) heal() {
	w := r.w
	r.stage = healed
	r.storm.whole = map[string]bool{}
	w.kvDown, w.lake.down = false, false
	r.core = []*process{w.process(r.names[0]), w.process(r.names[1])}
	for _, p := range r.core {
		r.storm.whole[p.name] = true
		switch {
		case p.machine == nil:
			w.boot(p)
		case p.paused:
			w.resume(p)
		}
		w.heal(p)
	}
	for _, p := range w.procs {
		if strings.HasPrefix(p.name, "old-") {
			w.kill(p) // a name has one process in the end
		}
		for _, t := range sortedKeys(p.engines) {
			w.hears(p.engines[t])
		}
	}
	w.changed()
	r.tend()
}

// tend is the operator of the end: every table is to be owned, and one whose history a person has changed
// is adopted anew by that person's word.
func (r *run) tend() {
	w := r.w
	for _, t := range r.targets {
		latch, policy := Get[core.Latch](w.kv, core.ModeKey(t)), Get[core.Policy](w.kv, core.PolicyKey(t))
		if latch.Mode == core.Draining || policy.Mode != "" && policy.Mode != core.Owned {
			r.mode(t, core.Owned)
		}
		for _, f := range w.kv.Read(core.FailureRange(t)) {
			switch decode[core.FailureRecord](f).Code {
			case core.CodeLakeChanged, core.CodeLakeWentBack, core.CodeTableReplaced, core.CodeTableMissing:
				if w.lake.tables[t].pending() > 0 || Get[core.Execution](w.kv, core.ExecutionKey(t)).ID != "" {
					w.deliver(r.core[0], core.AdoptRequested{Request: w.newRequest(), Target: t})
				}
			}
		}
	}
	w.after(2*time.Minute, r.tend)
}

// patience is how long the end may take: an hour beyond the longest backoff that is due. Each worker that
// lives and is not whole may cost each table one more attempt, with the backoff after it.
func (r *run) patience() time.Duration {
	longest := int64(0)
	for _, t := range r.targets {
		for _, rec := range r.w.kv.Read(core.FailureRange(t)) {
			f := decode[core.FailureRecord](rec)
			longest = max(longest, f.Delay)
			for _, b := range f.BadShards {
				longest = max(longest, b.Delay)
			}
		}
	}
	others := 0
	for _, p := range r.w.procs {
		if _, worker := p.machine.(*core.Worker); worker && !slices.Contains(r.core, p) {
			others++
		}
	}
	attempt := r.profile.Limits.Queue + r.profile.Limits.Execution + 15*time.Minute
	if longest >= time.Hour.Milliseconds() {
		attempt += time.Hour
	}
	return time.Hour + time.Duration(longest)*time.Millisecond + time.Duration(others)*attempt
}

// quiet reports whether everything is merged and nobody owns a table.
func (r *run) quiet() bool {
	for _, t := range r.targets {
		if r.w.lake.tables[t].pending() > 0 || r.w.kv.Get(core.OwnerKey(t)).Mod != 0 {
			return false
		}
	}
	return true
}

// state is what there is to see of every table.
func (r *run) state() string {
	var b strings.Builder
	for _, t := range r.targets {
		e := Get[core.Execution](r.w.kv, core.ExecutionKey(t))
		fmt.Fprintf(&b, "%s: %s; execution %d %q on %s", t, r.w.lake.tables[t].describe(), e.Number, e.Phase, e.Endpoint)
		if m, ok := r.w.process(r.names[0]).machine.(*core.Master); ok {
			fmt.Fprintf(&b, "; why not now: %q", m.Why(t))
		}
		b.WriteString("\n")
		for _, rec := range r.w.kv.Read(core.FailureRange(t), core.Range{Key: core.DemandKey(t)}, core.Range{Key: core.ModeKey(t)}) {
			fmt.Fprintf(&b, "  %s %s\n", rec.Key, rec.Value)
		}
	}
	for _, p := range r.w.procs {
		what := []string{p.name}
		for _, is := range []struct {
			so   bool
			name string
		}{{slices.Contains(r.core, p), "whole"}, {p.machine == nil, "dead"}, {p.paused, "stopped"}, {p.noKV, "cut off from the KV"}, {p.noRPC, "cut off from the others"}} {
			if is.so {
				what = append(what, is.name)
			}
		}
		b.WriteString(strings.Join(what, " ") + "\n")
	}
	return b.String()
}
