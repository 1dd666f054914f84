package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// What may befall processes, machines and networks. Each outage ends by itself, unless the faults are over by
// then: what is broken then stays so.

// later ends an outage, if the faults last until then.
func (r *run) later(d time.Duration, end func()) {
	r.w.after(d, func() {
		if r.stage != healed {
			end()
		}
	})
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
		r.later(time.Duration(v>>30%60)*time.Second, func() {
			if p.machine == nil {
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
	r.later(d, func() {
		if p.life == life && p.paused {
			r.w.resume(p)
		}
	})
}

// cut cuts a process off from the KV, or from all others.
func (r *run) cut(p *process, v int64, d time.Duration) {
	if v>>30%2 == 0 {
		r.w.cutKV(p)
	} else {
		p.noRPC = true
	}
	r.later(d, func() { r.w.heal(p) })
}

// cutWays cuts what one process says to another, or what they say to each other.
func (r *run) cutWays(p, q *process, v int64, d time.Duration) {
	ways := []way{{p.name, q.name}, {q.name, p.name}}[:1+v>>30%2]
	for _, c := range ways {
		r.w.cuts[c.String()] = true
	}
	r.later(d, func() {
		for _, c := range ways {
			delete(r.w.cuts, c.String())
		}
	})
}

// cutAnswers lets a process's requests arrive at the KV, and nothing come back; so its lease ends.
func (r *run) cutAnswers(p *process, d time.Duration) {
	p.noAnswers = true
	r.w.loseLease(p)
	r.later(d, func() { r.w.heal(p) })
}

// kvAway takes the KV away for at least so long.
func (w *world) kvAway(d time.Duration) {
	if !w.kvDown {
		w.kvDown, w.kvSince = true, w.now
	}
	w.kvUntil = max(w.kvUntil, w.now.Add(d))
	w.after(d, func() {
		if w.kvDown && w.now >= w.kvUntil {
			w.kvBack()
		}
	})
}

func (w *world) kvBack() {
	if flying := w.flying(); w.kvDown && flying && w.now.Since(w.kvSince) >= time.Hour {
		w.cover.rare("the KV is back after an hour, with a put held all the time")
	}
	w.kvDown = false
	w.changed()
}

// flying reports whether a manifest is on its way to storage.
func (w *world) flying() bool {
	for _, t := range sortedKeys(w.lake.tables) {
		if w.lake.tables[t].flying > 0 {
			return true
		}
	}
	return false
}

func (w *world) lakeAway(d time.Duration) {
	w.lake.down = true
	w.after(d, func() { w.lake.down = false })
}

// leap makes a monotonic clock show that more time has passed than has, as on a machine that was asleep.
func (w *world) leap(p *process, d time.Duration) {
	p.clock.zero += core.MonoTime(d)
	w.checks.leap = w.now
	if p.machine != nil {
		w.checks.leapt[core.Instance(p.id)] = true
		p.rearm()
	}
}

// drain tells a worker to take nothing new. Whoever does that stops it in the end, and starts another.
func (r *run) drain(p *process, v int64, d time.Duration) {
	if _, worker := p.machine.(*core.Worker); !worker {
		return
	}
	life := p.life
	r.w.deliver(p, core.DrainRequested{})
	r.later(d, func() {
		if p.life == life && p.machine != nil {
			r.w.kill(p)
			r.w.boot(p)
		}
	})
}

// drained reports whether a process takes nothing new.
func (p *process) drained() bool {
	k, ok := p.machine.(*core.Worker)
	return ok && !k.Load().Accepting
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
	if p.machine == nil || p.paused || len(r.w.procs) > 8 || strings.HasPrefix(p.name, "old-") {
		return
	}
	r.w.twin(p)
	r.later(d, func() { r.w.kill(p) })
}

// scars are what is broken about the processes and ways of the fleet: after the faults it stays so.
func (r *run) scars() (all []string) {
	for _, p := range r.w.procs {
		if slices.Contains(r.core, p) {
			continue
		}
		for _, is := range p.ails() {
			all = append(all, p.name+" is "+is)
		}
	}
	return append(all, sortedKeys(r.w.cuts)...)
}

// ails is what is wrong with a process.
func (p *process) ails() (all []string) {
	for _, is := range []struct {
		so   bool
		name string
	}{
		{p.machine == nil || p.paused, "dead or stopped"}, {p.noKV, "cut off from the KV"},
		{p.noAnswers, "answered nothing by the KV"}, {p.noRPC, "cut off from the others"}, {p.drained(), "drained"},
	} {
		if is.so {
			all = append(all, is.name)
		}
	}
	return all
}

// mended is a scar that is gone, though nothing may heal it; "" if there is none.
func (r *run) mended() string {
	now := r.scars()
	for _, s := range r.broken {
		if !slices.Contains(now, s) {
			return s
		}
	}
	return ""
}
