package sim

import (
	"fmt"
	"strconv"

	"github.com/sluice-data/sluice/core"
)

// machine is what Master and Worker have in common.
type machine interface {
	Step(core.Moment, core.Event) []core.Effect
	Next() (core.MonoTime, bool)
}

// process is one process of the world: a machine with its state, or nothing while it is dead.
type process struct {
	name    string
	id      string // of its present life
	life    int
	machine machine
	number  int // of its present life, in a recording
	start   func(instance core.Instance) machine
	clock   clock
	next    core.MonoTime // when it wants a tick, by the world's time
	ticks   bool
	paused  bool
	woke    core.MonoTime // when it was resumed last
	inbox   []func()      // what came while it was paused
	noKV    bool          // cut off from the KV
	noRPC   bool          // cut off from the other processes
	// noAnswers: its requests arrive at the KV, and nothing comes back.
	noAnswers bool
	writes    []core.Written // what it writes, if it is a worker
	worker    bool
	seen      core.Revision
	told      core.MonoTime // when the last of the changes that are on their way arrives
	holding   string        // transactions of that name wait in its network
	held      []func()
	engines   map[core.Target]*engine
}

// nothing is what a process has seen of the KV before its first snapshot. No change comes before that.
const nothing core.Revision = -1

// wants is when the process wants a tick, if it can take one.
func (p *process) wants() (core.MonoTime, bool) {
	return p.next, p.ticks && p.machine != nil && !p.paused
}

// boot starts a process, which knows nothing of its life before.
func (w *world) boot(p *process) {
	p.life++
	w.lives++ // no two lives share an instance, whatever the names
	p.id = fmt.Sprintf("%s/%d", p.name, w.lives)
	instance, start := core.Instance(p.id), p.start
	p.machine, p.ticks = start(instance), false
	p.number = w.record.started(func() machine { return start(instance) })
	p.paused, p.inbox, p.engines = false, nil, map[core.Target]*engine{}
	p.seen = nothing
	w.snapshot(p)
}

// twin starts a second process with the same name and address, while the first one still lives as "old-…".
func (w *world) twin(p *process) {
	second := &process{name: p.name, life: p.life, start: p.start, writes: p.writes, worker: p.worker}
	p.name = "old-" + p.name
	w.add(second)
}

// kill ends a process; its lease ends some time later. Its engines go with it.
func (w *world) kill(p *process) {
	w.loseLease(p)
	for _, t := range sortedKeys(p.engines) {
		p.engines[t].dead = true
	}
	p.machine, p.paused, p.inbox = nil, false, nil
}

// loseLease ends the lease of a process that renews it no more.
func (w *world) loseLease(p *process) {
	id := p.id
	w.after(leaseTTL, func() {
		if p.id == id && p.machine != nil && !p.paused && !p.noKV && !p.noAnswers {
			return // it is back
		}
		w.expire(id)
	})
}

// expire ends a lease, whoever lives under it.
func (w *world) expire(holder string) {
	if t, ok := w.kv.Expire(holder); ok {
		w.history.expired(holder, t)
		w.noticedLease()
	}
	w.changed()
}

func (w *world) pause(p *process) {
	p.paused = true
	w.loseLease(p)
}

// resume hands over what came meanwhile, in order, before the process notices how late it is.
func (w *world) resume(p *process) {
	p.paused, p.woke = false, w.now
	inbox := p.inbox
	p.inbox = nil
	for _, come := range inbox {
		come()
	}
}

// act runs what the process itself does beside its machine: now, when it wakes up, or never.
func (w *world) act(p *process, life int, do func()) {
	switch {
	case p.life != life || p.machine == nil:
	case p.paused:
		p.inbox = append(p.inbox, func() { w.act(p, life, do) })
	default:
		do()
	}
}

func (w *world) cutKV(p *process) {
	p.noKV = true
	w.loseLease(p)
}

func (w *world) heal(p *process) {
	p.noKV, p.noAnswers, p.noRPC = false, false, false
	w.watch(p)
}

// deliver gives a process an event and carries out what it wants.
func (w *world) deliver(p *process, ev core.Event) {
	if p.machine == nil {
		return
	}
	if p.paused {
		if _, tick := ev.(core.Tick); !tick {
			life := p.life
			p.inbox = append(p.inbox, func() {
				if p.life == life {
					w.deliver(p, ev)
				}
			})
		}
		return
	}
	w.fresh++
	w.steps++
	at := core.Moment{Mono: p.clock.mono(w.now), Wall: p.clock.wall(w.now), Fresh: "x" + strconv.Itoa(w.fresh)}
	w.record.step(p.number, at, ev)
	effects := p.machine.Step(at, ev)
	w.cover.event(ev)
	w.checks.fanOut.event(ev)
	w.checks.words.event(ev)
	w.sum(p, ev, effects)
	life := p.life
	p.rearm()
	for i, e := range effects {
		if p.life != life || p.machine == nil {
			break // it has crashed in the middle
		}
		w.cover.effect(e)
		w.perform(p, e)
		if i < len(effects)-1 && w.faults.crash(p.name) && p.machine != nil && p.life == life {
			w.say("---", "%s crashes between two effects", p.name)
			w.cover.rare("crash between two effects")
			w.kill(p)
		}
	}
	w.checks.step()
	if w.digests != nil {
		w.digests = append(w.digests, w.digest)
	}
}

// rearm asks the machine when it wants its next tick.
func (p *process) rearm() {
	next, ok := p.machine.Next()
	p.ticks = ok
	if ok {
		p.next = p.clock.when(next)
	}
}

// sum adds one step to the digest: who, when, what came and what it wanted, and what the KV and the lake
// hold by then.
func (w *world) sum(p *process, ev core.Event, effects []core.Effect) {
	w.digest.number(uint64(w.now))
	w.digest.text(p.id)
	w.digest.text(kindOf(ev))
	for _, e := range effects {
		w.digest.text(kindOf(e))
		switch e := e.(type) {
		case core.Commit:
			w.digest.text(e.Txn.Name)
		case core.Note:
			w.digest.text(e.Text)
		}
	}
	w.digest.number(uint64(w.kv.rev))
	w.digest.number(uint64(w.kv.logged))
	w.digest.number(uint64(w.lake.logged))
}

// tell delivers an event after some time, unless the process has died meanwhile.
func (w *world) tell(p *process, kind string, ev core.Event) {
	life := p.life
	w.after(w.faults.delay(kind, p.name), func() {
		if p.life == life {
			w.deliver(p, ev)
		}
	})
}
