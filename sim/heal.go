package sim

import (
	"cmp"
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
	w.plot.end()
	w.kvBack()
	w.lake.down = false
	r.core = []*process{w.process(r.names[0]), w.process(r.names[1])}
	for _, p := range r.core {
		r.storm.whole[p.name] = true
		switch {
		case p.machine == nil:
			w.boot(p)
		case p.paused:
			w.resume(p)
		}
		if p.drained() { // whoever drains a worker stops it and starts another
			w.kill(p)
			w.boot(p)
		}
		w.heal(p)
		for _, q := range r.core {
			delete(w.cuts, way{p.name, q.name}.String())
		}
		for _, old := range w.procs {
			if old.name == "old-"+p.name {
				w.kill(old) // the name of a process that is whole is its own
			}
		}
		for _, t := range sortedKeys(p.engines) {
			w.hears(p.engines[t])
		}
	}
	r.broken = r.scars()
	w.changed()
	r.tend()
}

// tend is the operator of the end: every table that a process declares is owned, as is every second of the
// others; and one whose history a person has changed is adopted anew by that person's word.
func (r *run) tend() {
	w := r.w
	for _, t := range r.targets {
		if w.lake.tables[t].gone {
			r.anew(t)
		}
		latch := cmp.Or(Get[core.Latch](w.kv, core.ModeKey(t)).Mode, core.Direct)
		policy := r.profile.Upkeep.policy()
		policy.Mode = r.ends(t)
		switch {
		case core.Encode(r.policy(t)) != core.Encode(policy):
			r.tell(core.PolicyRequested{Request: w.newRequest(), Target: t, Policy: policy})
		case latch != policy.Mode:
			r.mode(t, policy.Mode)
		}
		for _, f := range w.kv.Read(core.FailureRange(t)) {
			switch decode[core.FailureRecord](f).Code {
			case core.CodeLakeChanged, core.CodeLakeWentBack, core.CodeTableReplaced, core.CodeTableMissing:
				if w.lake.tables[t].pending() > 0 || !r.kept(t) || Get[core.Execution](w.kv, core.ExecutionKey(t)).ID != "" {
					w.deliver(r.core[0], core.AdoptRequested{Request: w.newRequest(), Target: t, Gone: w.lake.tables[t].gone})
				}
			}
		}
	}
	w.after(2*time.Minute, r.tend)
}

// ends is the mode that a table has in the end.
func (r *run) ends(t core.Target) core.Mode {
	if r.direct(t) && slices.Index(r.targets, t)%2 == 0 {
		return core.Direct
	}
	return core.Owned
}

// waiting is how many generations of a table are to be merged in the end: those of shards that can be, and of a
// direct table those that the worker writes which is whole.
func (r *run) waiting(t core.Target) (n int) {
	tb, u := r.w.lake.tables[t], r.profile.Uneven
	for _, s := range tb.shards {
		pending := s.above(tb.head().Marks.Of(s.id))
		blocked := slices.ContainsFunc(pending, func(st sstable) bool {
			return s.corrupt > 0 && st.generation >= s.corrupt || u.Largest > 0 && st.size > u.Largest
		})
		written := slices.ContainsFunc(r.core[1].writes, func(w core.Written) bool { return w.Target == t && slices.Contains(w.Shards, s.id) })
		if !blocked && (written || r.ends(t) == core.Owned) {
			n += len(pending)
		}
	}
	return n
}

// patience is how long the end may take: an hour beyond the longest backoff that is due. A worker that is broken and
// still registered may take each table once more, for as long as a reservation and an execution last, and leave a
// backoff of a quarter of an hour: nobody can tell beforehand that its engines die, or that it can't be reached. Those
// that are dead, stopped or cut off from the KV hold nothing up.
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
		if registered := p.machine != nil && !p.paused && !p.noKV && !p.noAnswers; p.worker && registered && !slices.Contains(r.core, p) {
			others++
		}
	}
	attempt := r.profile.Limits.Queue + r.profile.Limits.Execution + 15*time.Minute
	return time.Hour + time.Duration(longest)*time.Millisecond + time.Duration(others)*attempt
}

// quiet reports whether everything is merged that can be, and nobody owns a table.
func (r *run) quiet() bool {
	for _, t := range r.targets {
		if r.waiting(t) > 0 || !r.kept(t) || r.w.kv.Get(core.OwnerKey(t)).Mod != 0 && !r.unable(t) {
			return false
		}
	}
	return true
}

// unable reports whether a table is reserved for maintenance by a worker that does nothing, while the one that is whole
// can only merge: that is tried again and again.
func (r *run) unable(t core.Target) bool {
	e := Get[core.Execution](r.w.kv, core.ExecutionKey(t))
	return r.profile.Upkeep.Unable && e.Kind.Maintains() && e.Phase == core.Reserved && string(e.Endpoint) != r.core[1].name
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
		what := append([]string{p.name}, p.ails()...)
		if slices.Contains(r.core, p) {
			what = append(what, "whole")
		}
		b.WriteString(strings.Join(what, ", ") + "\n")
	}
	for _, c := range sortedKeys(r.w.cuts) {
		b.WriteString(c + "\n")
	}
	return b.String()
}
