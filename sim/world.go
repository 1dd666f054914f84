package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// world is a virtual cluster around the real machines: one KV, one lake, masters, workers with a gate and
// an engine each, writers, a virtual clock and a queue of messages. Nothing in it decides anything about
// the protocol; it delivers, delays, loses and lies, as its weather says. The same weather always gives
// the same run.
type world struct {
	now     core.MonoTime
	kv      *KV
	lake    *lake
	procs   []*process
	queue   queue
	fresh   int
	lives   int
	steps   int
	faults  weather
	engines engineScript
	kvDown  bool
	kvSince core.MonoTime // when it went away
	kvUntil core.MonoTime // when the outage under way ends
	holding bool          // storage holds base manifests back
	heldPut []func()      // those that it holds
	rpcs    map[core.RequestID]*call
	cuts    map[string]bool // ways between processes that are cut
	rare    rareties
	applied string // the last transaction that a process had applied
	plot    *plot  // what is about to go wrong in several steps; nil: nothing
	gate    map[core.RequestID]*attempt
	request core.RequestID
	checks  *checks
	cover   coverage
	history *history // nil: nothing is recorded
	trace   []Line
	spans   []Span
	quietly bool // no trace is kept
	digest  hash
	digests []hash     // after each step; nil: they are not kept
	record  *Recording // nil: nothing is recorded
}

// weather says what goes wrong with each message. who names the process that sends or asks, so that each
// of them can have chances of its own. The zero value of each answer is what happens in a world without
// faults.
type weather struct {
	// delay is how long a message of this kind takes.
	delay func(kind, who string) time.Duration
	// lose says whether a request gets lost before (done is false) or after it took effect.
	lose func(kind, who string) (lost, done bool)
	// twice says whether a request arrives a second time, and how much later.
	twice func(kind, who string) (again time.Duration, ok bool)
	// put says what storage does with a manifest.
	put func(who string) putFate
	// crash says whether a process ends between two effects of one step.
	crash func(who string) bool
	// blind says whether a look at storage fails, stale how many versions behind it is.
	blind func(kind, who string) bool
	stale func(kind, who string) int
	// gap is how long a commit is on its way from the look that it was made on to its gate.
	gap func(who string) time.Duration
	// stall says how much longer a step of the protocol takes, to where it is done and back.
	stall func(what, who string) (there, back time.Duration)
	// script says how the engine of one execution behaves.
	script func(who string) engineScript
}

const (
	leaseTTL   = 10 * time.Second
	rpcTimeout = 2 * time.Second
	kvTimeout  = 5 * time.Second
	putTimeout = 20 * time.Second
	wallEpoch  = core.WallMillis(1_700_000_000_000)
)

// calm is a weather without faults, in which every message takes a millisecond.
func calm() weather {
	return weather{
		delay:  func(string, string) time.Duration { return time.Millisecond },
		lose:   func(string, string) (bool, bool) { return false, false },
		twice:  func(string, string) (time.Duration, bool) { return 0, false },
		put:    func(string) putFate { return putFate{answer: 200} },
		crash:  func(string) bool { return false },
		blind:  func(string, string) bool { return false },
		stale:  func(string, string) int { return 0 },
		gap:    func(string) time.Duration { return 0 },
		stall:  func(string, string) (time.Duration, time.Duration) { return 0, 0 },
		script: nil,
	}
}

func newWorld() *world {
	w := &world{
		kv: NewKV(), lake: newLake(), faults: calm(), digest: newHash(), cover: coverage{},
		rpcs: map[core.RequestID]*call{}, cuts: map[string]bool{}, rare: newRareties(), gate: map[core.RequestID]*attempt{},
	}
	w.checks = newChecks(w)
	w.lake.moved = func(t core.Target, by string, v core.Version) {
		if !strings.HasPrefix(by, "execution ") { // those are noted where they are sent
			w.history.moved(t, by, v)
		}
	}
	w.lake.now = func() core.MonoTime { return w.now }
	w.lake.replaced = func(t core.Target, old *table) {
		w.history.replaced(t, w.lake.tables[t].head())
		w.checks.replaced(t, old)
	}
	return w
}

func (w *world) addMaster(name string, declares core.Declaration, limits core.Limits) *process {
	return w.master(core.MasterConfig{ID: name, Declares: declares, Limits: limits})
}

func (w *world) master(cfg core.MasterConfig) *process {
	return w.add(&process{name: cfg.ID, start: func(i core.Instance) machine {
		cfg.Instance, cfg.Address = i, cfg.ID
		return core.NewMaster(cfg)
	}})
}

func (w *world) addWorker(name string, cfg core.WorkerConfig) *process {
	cfg.Endpoint, cfg.Address = core.Endpoint(name), name
	return w.add(&process{name: name, worker: true, writes: cfg.Writes, start: func(i core.Instance) machine {
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

// after queues a message.
func (w *world) after(d time.Duration, run func()) { w.queue.push(w.now.Add(d), run) }

func (w *world) say(who string, format string, args ...any) {
	if !w.quietly {
		w.trace = append(w.trace, Line{time.Duration(w.now), who, fmt.Sprintf(format, args...)})
	}
}

// step does the next thing that is due, no later than limit; it reports false when there is none.
func (w *world) step(limit core.MonoTime) bool {
	var who *process
	at := limit + 1
	for _, p := range w.procs {
		if next, ok := p.wants(); ok && max(next, w.now) < at {
			at, who = max(next, w.now), p
		}
	}
	if next, ok := w.queue.next(); ok && next <= min(at, limit) {
		w.now = next
		w.queue.pop()()
		return true
	}
	if who == nil {
		return false
	}
	w.now = at
	w.deliver(who, core.Tick{})
	if next, ok := who.wants(); ok && next <= w.now {
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
