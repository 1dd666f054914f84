package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// What people do to a fleet and its tables.

// operate is what an operator does: ask for a merge or an adoption, change the mode, write a policy, or have
// failures forgotten.
func (r *run) operate(p *process, t core.Target, v int64) {
	w := r.w
	if _, ok := p.machine.(*core.Master); ok {
		switch v >> 30 % 4 {
		case 0:
			w.deliver(p, core.MergeRequested{Request: w.newRequest(), Target: t, Now: v>>33%2 == 0, Kind: []core.Kind{"", "", core.KindCompact, core.KindCleanup}[v>>35%4]})
			return
		case 1:
			w.deliver(p, core.AdoptRequested{Request: w.newRequest(), Target: t})
			return
		}
	}
	switch now := r.policy(t); v >> 34 % 8 {
	case 0, 1:
		r.mode(t, core.Draining)
	case 2, 3:
		r.mode(t, r.rests(t))
	case 4:
		r.mode(t, []core.Mode{core.Direct, core.Owned, "both"}[v>>38%3]) // whatever anybody declares, or makes sense
	case 5:
		r.forget(t, v>>38)
	case 6:
		now.Mode = []core.Mode{"", core.Owned, core.Draining, core.Direct}[v>>38%4]
		r.tell(core.PolicyRequested{Request: w.newRequest(), Target: t, Policy: now})
	default:
		generations, seconds, pass := int(v>>38%6), v>>41%120, int(v>>38%9) // a pass of none is refused
		now.PendingGenerations, now.PendingSeconds, now.PassGenerations = &generations, &seconds, &pass
		r.tell(core.PolicyRequested{Request: w.newRequest(), Target: t, Policy: now})
	}
}

// forget has the failures of an endpoint forgotten that has failed on a table, there or everywhere.
func (r *run) forget(t core.Target, v int64) {
	budgets := r.w.kv.Read(core.FailureRange(t))
	if len(budgets) == 0 {
		return
	}
	ev := core.ForgetRequested{Request: r.w.newRequest(), Target: t, Endpoint: decode[core.FailureRecord](budgets[int(v>>1)%len(budgets)]).Endpoint}
	if v%2 == 0 {
		ev.Target = ""
	}
	r.tell(ev)
}

func (r *run) policy(t core.Target) core.Policy { return Get[core.Policy](r.w.kv, core.PolicyKey(t)) }

// rests is the mode that a table has after it was draining: one that no process declares is owned and direct
// in turn.
func (r *run) rests(t core.Target) core.Mode {
	if !r.direct(t) {
		return core.Owned
	}
	if r.turns++; r.turns%2 == 0 {
		return core.Direct
	}
	return core.Owned
}

// mode asks for a mode, which may be refused.
func (r *run) mode(t core.Target, m core.Mode) {
	r.tell(core.ModeRequested{Request: r.w.newRequest(), Target: t, Mode: m})
}

// tell tells a master what an operator says: the one that is whole, if there is one, else each that lives in turn.
func (r *run) tell(ev core.Event) {
	masters := slices.DeleteFunc(slices.Clone(r.w.procs), func(p *process) bool {
		return p.worker || p.machine == nil || r.stage == healed && !slices.Contains(r.core, p)
	})
	if len(masters) > 0 {
		r.told++
		r.w.deliver(masters[r.told%len(masters)], ev)
	}
}

// write is how a fleet is set up before it runs.
func (r *run) write(txn core.Txn) {
	if !r.w.kvDown && r.w.commit1(txn) {
		r.w.cover.transaction(txn.Name)
	}
}

// rewrite changes the history of a table as a user may: by a restore, by bringing it back from an older copy, or
// by dropping it, for a while or to make it anew. All but the first are done while no commit of ours can be on its way.
func (r *run) rewrite(target core.Target, v int64) {
	w, t := r.w, r.w.lake.tables[target]
	idle := t.flying == 0 && !r.admits(target)
	switch v >> 30 % 5 {
	case 0:
		if t.restore(1+int(v>>32%3), r.graces().Retention) {
			w.cover.rare("a user restores an older version")
		}
	case 1:
		r.copies[target] = t.clone()
	case 2:
		if old := r.copies[target]; old != nil && idle {
			old = old.clone()
			old.numbers = t.numbers
			w.lake.place(target, old)
			w.cover.rare("a table comes back from an older copy")
		}
	case 3:
		if idle {
			r.anew(target)
			w.cover.rare("a table is dropped and made anew")
		}
	case 4:
		if idle && !t.gone {
			if owner := Get[core.Execution](w.kv, core.ExecutionKey(target)); owner.ID != "" {
				w.cover.rare("a table is dropped under an execution that is not running")
			}
			t.gone = true
			r.comesBack(target)
		}
	}
}

// admits reports whether an execution of a table may have a commit admitted.
func (r *run) admits(t core.Target) bool {
	p := Get[core.Execution](r.w.kv, core.ExecutionKey(t)).Phase
	return p != "" && p != core.Reserved && p != core.Recovering
}

// comesBack makes a dropped table anew, as soon as that is possible.
func (r *run) comesBack(target core.Target) {
	r.later(3*time.Minute, func() {
		if r.anew(target); r.w.lake.tables[target].gone {
			r.comesBack(target)
		}
	})
}

// anew makes a table anew, in the place of one that is dropped.
func (r *run) anew(target core.Target) {
	w, t := r.w, r.w.lake.tables[target]
	if t.flying > 0 || r.admits(target) {
		return
	}
	fresh := newTable(len(t.shards))
	fresh.numbers = t.numbers
	w.lake.place(target, fresh)
	r.spoil(target)
	if r.profile.Upkeep.Indexed {
		fresh.index()
	}
	delete(r.copies, target)
}

// client is a commit of a user's own program, often on a key that SSTables speak of too.
func (r *run) client(target core.Target, v int64) {
	t := r.w.lake.tables[target]
	if t.gone || r.w.plot.quiets(target) {
		return
	}
	s := t.shards[int(v>>8)%len(t.shards)]
	key, value := fmt.Sprintf("%s/%d", s.id, v>>16%12), fmt.Sprintf("client %d", t.rows)
	t.rows++
	switch v % 4 {
	case 0:
		key = fmt.Sprintf("client/%d", v>>16%12)
	case 1:
		value = ""
	}
	if int(v>>24%1000) < r.profile.Rates.Schema {
		t.reschema()
	}
	t.edit(key, value)
	if u := r.profile.Upkeep; len(u.Kinds) > 0 {
		if int(v>>28%1000) < u.Users {
			t.compacts()
			r.w.cover.rare("a user compacts a table")
		}
		if int(v>>30%1000) < u.Tags {
			t.tag(int(v>>36%6), r.w.now)
			r.w.cover.rare("a user tags a version")
		}
	}
	r.w.checks.step()
}

// meetsDrain reports whether a flush meets an execution that is being drained: of a table, or on a worker.
func (r *run) meetsDrain(t core.Target) bool {
	e := Get[core.Execution](r.w.kv, core.ExecutionKey(t))
	if e.ID == "" {
		return false
	}
	if r.w.checks.draining(t) {
		return true
	}
	return slices.ContainsFunc(r.w.procs, func(p *process) bool { return string(e.Endpoint) == p.name && p.drained() })
}
