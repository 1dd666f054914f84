package core_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// world is a miniature cluster around the real machines: one KV, one lake, masters, workers with a gate
// and an engine each, a virtual clock and a queue of messages. Nothing in it decides anything about the
// protocol; it delivers, delays and loses. The same seed and script always give the same run.
type world struct {
	now     core.MonoTime
	kv      *memKV
	lake    *lake
	procs   []*process
	queue   []message // sorted by time, then by number
	seq     int
	fresh   int
	lives   int
	faults  faults
	engines engineScript
	kvDown  bool
	holding bool     // storage holds base manifests back
	heldPut []func() // those that it holds
	rpcs    map[core.RequestID]func(core.Replied)
	deaf    map[core.RequestID]bool // calls whose answer gets lost
	gate    map[core.RequestID]*attempt
	request core.RequestID
	checks  *checks
	trace   []string
}

// faults are chosen per message by whoever runs the world. The zero value is a world without any.
type faults struct {
	// delay is how long a message of this kind takes.
	delay func(kind string) time.Duration
	// lose says whether a request gets lost before (done is false) or after it took effect.
	lose func(kind string) (lost, done bool)
}

type message struct {
	at  core.MonoTime
	seq int
	run func()
}

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
	start   func(instance core.Instance) machine
	paused  bool
	inbox   []core.Event // what came while it was paused
	noKV    bool         // cut off from the KV
	noRPC   bool         // cut off from the other processes
	seen    int          // changes of the KV that it was sent
	holding string       // transactions of that name wait in its network
	held    []func()
	skew    core.WallMillis
	engines map[core.Target]*engine
}

const (
	leaseTTL   = 10 * time.Second
	rpcTimeout = 2 * time.Second
	kvTimeout  = 5 * time.Second
	wallEpoch  = core.WallMillis(1_700_000_000_000)
)

func newWorld() *world {
	w := &world{
		kv: newKV(), lake: &lake{tables: map[core.Target]*table{}},
		rpcs: map[core.RequestID]func(core.Replied){}, deaf: map[core.RequestID]bool{}, gate: map[core.RequestID]*attempt{},
	}
	w.faults.delay = func(kind string) time.Duration {
		if kind == "late put" {
			return 1000 * time.Hour
		}
		return time.Millisecond
	}
	w.faults.lose = func(string) (bool, bool) { return false, false }
	w.checks = newChecks(w)
	return w
}

func (w *world) addMaster(name string, declares core.Declaration, limits core.Limits) *process {
	return w.add(&process{name: name, start: func(i core.Instance) machine {
		return core.NewMaster(core.MasterConfig{ID: name, Instance: i, Address: name, Declares: declares, Limits: limits})
	}})
}

func (w *world) addWorker(name string, cfg core.WorkerConfig) *process {
	cfg.Endpoint, cfg.Address = core.Endpoint(name), name
	return w.add(&process{name: name, start: func(i core.Instance) machine {
		cfg.Instance = i
		return core.NewWorker(cfg)
	}})
}

func (w *world) add(p *process) *process {
	w.procs = append(w.procs, p)
	w.boot(p)
	return p
}

func (w *world) process(name string) *process {
	for _, p := range w.procs {
		if p.name == name {
			return p
		}
	}
	return nil
}

// boot starts a process, which knows nothing of its life before.
func (w *world) boot(p *process) {
	p.life++
	w.lives++ // no two lives share an instance, whatever the names
	p.id = fmt.Sprintf("%s/%d", p.name, w.lives)
	p.machine = p.start(core.Instance(p.id))
	p.paused, p.inbox, p.engines = false, nil, map[core.Target]*engine{}
	w.snapshot(p)
}

// twin starts a second process with the same name and address, while the first one still lives as "old-…".
func (w *world) twin(p *process) {
	second := &process{name: p.name, life: p.life, start: p.start}
	p.name = "old-" + p.name
	w.add(second)
}

// kill ends a process; its lease ends some time later, as do the engines that it ran.
func (w *world) kill(p *process) {
	w.loseLease(p)
	for _, t := range slices.Sorted(maps.Keys(p.engines)) {
		p.engines[t].dead = true
	}
	p.machine = nil
}

// loseLease ends the lease of a process that renews it no more.
func (w *world) loseLease(p *process) {
	id := p.id
	w.after(leaseTTL, func() {
		if p.id == id && p.machine != nil && !p.paused && !p.noKV {
			return // it is back
		}
		w.kv.expire(id)
		w.changed()
	})
}

func (w *world) pause(p *process) {
	p.paused = true
	w.loseLease(p)
}

// resume hands over what came meanwhile, in order, before the process notices how late it is.
func (w *world) resume(p *process) {
	p.paused = false
	inbox := p.inbox
	p.inbox = nil
	for _, ev := range inbox {
		w.deliver(p, ev)
	}
}

func (w *world) cutKV(p *process) {
	p.noKV = true
	w.loseLease(p)
}

func (w *world) heal(p *process) {
	p.noKV, p.noRPC = false, false
	w.watch(p)
}

// after queues a message.
func (w *world) after(d time.Duration, run func()) {
	w.seq++
	m := message{w.now.Add(d), w.seq, run}
	i, _ := slices.BinarySearchFunc(w.queue, m, func(a, b message) int {
		if a.at != b.at {
			return int(min(1, max(-1, a.at-b.at)))
		}
		return a.seq - b.seq
	})
	w.queue = slices.Insert(w.queue, i, m)
}

func (w *world) say(who string, format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%-3s %s", who, fmt.Sprintf(format, args...)))
}

// step does the next thing that is due, no later than limit; it reports false when there is none.
func (w *world) step(limit core.MonoTime) bool {
	var who *process
	at := limit + 1
	for _, p := range w.procs {
		if p.machine == nil || p.paused {
			continue
		}
		if next, ok := p.machine.Next(); ok && max(next, w.now) < at {
			at, who = max(next, w.now), p
		}
	}
	if len(w.queue) > 0 && w.queue[0].at <= min(at, limit) {
		m := w.queue[0]
		w.queue = w.queue[1:]
		w.now = m.at
		m.run()
		return true
	}
	if who == nil {
		return false
	}
	w.now = at
	w.deliver(who, core.Tick{})
	if next, ok := who.machine.Next(); ok && next <= w.now {
		panic(fmt.Sprintf("%s wants a tick at %v again and again", who.name, time.Duration(next)))
	}
	return true
}

// run goes on until cond holds or the time is over; it reports whether cond held.
func (w *world) run(d time.Duration, cond func() bool) bool {
	limit := w.now.Add(d)
	for !cond() {
		if !w.step(limit) {
			w.now = limit
			return cond()
		}
	}
	return true
}

func never() bool { return false }

// deliver gives a process an event and carries out what it wants.
func (w *world) deliver(p *process, ev core.Event) {
	if p.machine == nil {
		return
	}
	if p.paused {
		if _, tick := ev.(core.Tick); !tick {
			p.inbox = append(p.inbox, ev)
		}
		return
	}
	w.fresh++
	at := core.Moment{Mono: w.now, Wall: wallEpoch + p.skew + core.WallMillis(time.Duration(w.now).Milliseconds()), Fresh: fmt.Sprintf("x%d", w.fresh)}
	for _, e := range p.machine.Step(at, ev) {
		w.perform(p, e)
	}
}

// tell delivers an event after some time, unless the process has died meanwhile.
func (w *world) tell(p *process, kind string, ev core.Event) {
	life := p.life
	w.after(w.faults.delay(kind), func() {
		if p.life == life {
			w.deliver(p, ev)
		}
	})
}

// changed sends every process the changes of the KV that it has not seen yet.
func (w *world) changed() {
	for _, p := range w.procs {
		w.watch(p)
	}
	w.checks.all()
}

func (w *world) watch(p *process) {
	if p.machine == nil || p.noKV {
		return
	}
	// One message for each change, in order: a later one never overtakes.
	life := p.life
	w.after(w.faults.delay("watch"), func() {
		if p.life != life || p.noKV || w.kvDown {
			return
		}
		for p.seen < len(w.kv.log) {
			ch := w.kv.log[p.seen]
			p.seen++
			w.deliver(p, core.Changed{Revision: ch.rev, Puts: ch.puts, Deletes: ch.deletes})
		}
	})
}

func (w *world) snapshot(p *process) {
	life := p.life
	w.after(w.faults.delay("watch"), func() {
		switch {
		case p.life != life:
		case p.noKV || w.kvDown:
			w.after(time.Second, func() {
				if p.life == life {
					w.snapshot(p)
				}
			})
		default:
			p.seen = len(w.kv.log)
			w.deliver(p, core.Changed{Revision: w.kv.rev, Reset: true, Puts: w.kv.read(core.Everything())})
		}
	})
}
