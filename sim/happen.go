package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// happen does one thing to the world as a whole, chosen by v.
func (r *run) happen(v int64) {
	if r.stage != storming {
		return
	}
	rates, w := r.profile.Rates, r.w
	p := w.procs[int(v>>10)%len(w.procs)]
	t := r.targets[int(v>>14)%len(r.targets)]
	d := time.Duration(1+(v>>18)%600) * time.Second
	things := []thing{
		{rates.Process, "a process ends or starts", func() { r.endOrStart(p, v) }},
		{rates.Pause, "a process is stopped for a while", func() { r.pause(p, d) }},
		{rates.Cut, "a process is cut off", func() { r.cut(p, v, d) }},
		{rates.KVDown, "the KV is away", func() { r.kvAway(d) }},
		{rates.LakeDown, "the lake is away", func() { r.lakeAway(d) }},
		{rates.Clock, "a wall clock jumps", func() { p.clock.skew += core.WallMillis(v>>20%(1<<26)) - 1<<25 }},
		{rates.History, "a user changes a table's history", func() { r.rewrite(t, v) }},
		{rates.Operator, "an operator does something", func() { r.operate(p, t, v) }},
		{rates.Compact, "the KV is compacted and a watch dropped", func() { w.kv.Compact(w.kv.rev); w.snapshot(p) }},
		{rates.Process / 2, "an engine is killed", func() { r.killEngine(t) }},
		{rates.Cut / 3, "a lease ends under a live holder", func() { w.expire(p.id) }},
		{rates.Process / 6, "a process has a twin", func() { r.twin(p, d) }},
	}
	total := 0
	for _, th := range things {
		total += th.weight
	}
	if total == 0 {
		return
	}
	pick := int(v&1023) % total
	for _, th := range things {
		if pick < th.weight {
			w.cover.fault(th.name)
			w.say("---", "%s (%s, %s)", th.name, p.name, t)
			th.do()
			w.checks.step()
			return
		}
		pick -= th.weight
	}
}

// thing may happen; its weight says how often, beside the others.
type thing struct {
	weight int
	name   string
	do     func()
}

func (r *run) endOrStart(p *process, v int64) {
	w := r.w
	switch {
	case p.machine == nil:
		w.boot(p)
	case v>>30%3 == 0:
		w.kill(p)
	default:
		w.kill(p)
		w.after(time.Duration(v>>30%60)*time.Second, func() {
			if p.machine == nil && r.stage != healed {
				w.boot(p)
			}
		})
	}
}

func (r *run) pause(p *process, d time.Duration) {
	if p.machine == nil || p.paused {
		return
	}
	life := p.life
	r.w.pause(p)
	r.w.after(d, func() {
		if p.life == life && p.paused && r.stage != healed {
			r.w.resume(p)
		}
	})
}

func (r *run) cut(p *process, v int64, d time.Duration) {
	if v>>30%2 == 0 {
		r.w.cutKV(p)
	} else {
		p.noRPC = true
	}
	r.w.after(d, func() {
		if r.stage != healed {
			r.w.heal(p)
		}
	})
}

func (r *run) kvAway(d time.Duration) {
	r.w.kvDown = true
	r.w.after(d, func() { r.w.kvDown = false; r.w.changed() })
}

func (r *run) lakeAway(d time.Duration) {
	r.w.lake.down = true
	r.w.after(d, func() { r.w.lake.down = false })
}

// killEngine kills the engine of a table, and all those that have waited for storage for a while: who waits
// long is who gets killed.
func (r *run) killEngine(t core.Target) {
	for _, p := range r.w.procs {
		for _, of := range sortedKeys(p.engines) {
			en := p.engines[of]
			waits := en.open != nil && en.open.sent
			if (of == t || waits) && p.machine != nil {
				r.w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 9"})
			}
		}
	}
}

// twin starts a second process under the same name, for a while.
func (r *run) twin(p *process, d time.Duration) {
	if p.machine == nil || p.paused || len(r.w.procs) > 8 || p.name[0] == 'o' {
		return
	}
	r.w.twin(p)
	r.w.after(d, func() { r.w.kill(p) })
}

// rewrite changes the history of a table as a user may: by a restore, by bringing it back from an older
// copy, or by dropping it and making it anew. The last two are done while nothing runs on it.
func (r *run) rewrite(target core.Target, v int64) {
	w, t := r.w, r.w.lake.tables[target]
	idle := t.flying == 0 && Get[core.Execution](w.kv, core.ExecutionKey(target)).ID == ""
	switch v >> 30 % 4 {
	case 0:
		if t.restore(1 + int(v>>32%3)) {
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
			fresh := newTable(len(t.shards))
			fresh.numbers = t.numbers
			w.lake.place(target, fresh)
			delete(r.copies, target)
			w.cover.rare("a table is dropped and made anew")
		}
	}
}

// operate is what a person does: ask for a merge or an adoption, or change the mode.
func (r *run) operate(p *process, t core.Target, v int64) {
	w := r.w
	if _, ok := p.machine.(*core.Master); ok {
		switch v >> 30 % 4 {
		case 0:
			w.deliver(p, core.MergeRequested{Request: w.newRequest(), Target: t, Now: v>>33%2 == 0})
			return
		case 1:
			if v>>33%2 == 0 {
				w.deliver(p, core.AdoptRequested{Request: w.newRequest(), Target: t})
			}
			return
		}
	}
	if v>>34%2 == 0 {
		r.mode(t, core.Draining)
	} else {
		r.mode(t, core.Owned)
	}
}

// mode writes policy and latch, as the command for it does: to owned only while nobody owns the table.
func (r *run) mode(t core.Target, m core.Mode) {
	txn := core.Txn{Name: "mode", Then: []core.Op{
		core.Put(core.PolicyKey(t), core.Encode(core.Policy{Mode: m})),
		core.Put(core.ModeKey(t), core.Encode(core.Latch{Mode: m, By: "operator", At: wallEpoch})),
	}}
	if m == core.Owned {
		txn.If = []core.Cond{core.Absent(core.OwnerKey(t))}
	}
	if !r.w.kvDown {
		r.w.commit1(txn)
	}
}
