package sim

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

var (
	walkSeed  = flag.Uint64("walk.seed", 0, "run the random walk with this seed only, and print its trace")
	walkSeeds = flag.Uint64("walk.seeds", 100, "how many seeds the random walk tries")
)

// TestRandomWalk drives small clusters through random crashes, pauses, partitions, lost answers and late
// puts. The invariants are checked after every step; at the end the faults stop, and everything pending
// must be merged within a bounded time.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	randomWalk(t, newWalk)
}

// TestRandomWalkOfDirectTables is the same for tables that nobody owns and their writers merge by themselves.
func TestRandomWalkOfDirectTables(t *testing.T) {
	t.Parallel()
	randomWalk(t, newDirectWalk)
}

func randomWalk(t *testing.T, newWalk func(seed uint64) *walk) {
	first, last := uint64(1), *walkSeeds
	if *walkSeed != 0 {
		first, last = *walkSeed, *walkSeed
	}
	for seed := first; seed <= last; seed++ {
		k := newWalk(seed)
		problem := k.run()
		if *walkSeed != 0 {
			t.Log("\n" + told(k.w.trace))
		}
		if problem != "" {
			tail := k.w.trace[max(0, len(k.w.trace)-60):]
			t.Fatalf("seed %d: %s\nthe last of the trace:\n%s\nagain: go test ./sim -run '^%s$' -walk.seed=%d", seed, problem, told(tail), t.Name(), seed)
		}
	}
}

// TestAWalkIsRepeatable: the same seed gives the same run, or no failure could be looked into.
func TestAWalkIsRepeatable(t *testing.T) {
	t.Parallel()
	a, b := newWalk(7), newWalk(7)
	a.run()
	b.run()
	if !slices.Equal(a.w.trace, b.w.trace) {
		t.Fatal("two runs of seed 7 differ")
	}
}

// walk is one run.
type walk struct {
	w      *world
	rng    *rand.Rand
	tables []core.Target
}

const (
	walkActions  = 120
	walkPatience = 4 * time.Hour // two hourly retries, and what else may wait
)

var walkLimits = core.Limits{
	Queue: time.Minute, Execution: 5 * time.Minute, NoProgress: 25 * time.Second, CancelGrace: 8 * time.Second,
	Barrier: 30 * time.Second, Probe: 5 * time.Second, KVHold: 15 * time.Second, Poll: 20 * time.Second,
}

func emptyWalk(seed uint64) *walk {
	k := &walk{w: newWorld(), rng: rand.New(rand.NewPCG(seed, 1)), tables: []core.Target{"db", "db/events"}}
	k.w.faults.delay, k.w.faults.lose = k.delay, k.lose
	k.w.checks.untouched = true
	return k
}

func newWalk(seed uint64) *walk {
	k := emptyWalk(seed)
	declares := core.Declaration{Owned: k.tables}
	for i := range 1 + k.rng.IntN(2) {
		k.w.addMaster(fmt.Sprintf("m%d", i+1), declares, walkLimits)
	}
	shared := rand.New(rand.NewPCG(seed, 2)) // in half of the walks each worker writes a shard
	for i := range 1 + k.rng.IntN(3) {
		var writes []core.Written
		if seed%2 == 0 {
			for _, name := range k.tables {
				writes = append(writes, core.Written{Target: name, Shards: []core.ShardID{core.ShardID(fmt.Sprintf("s%03d", 1+shared.IntN(3)))}})
			}
		}
		k.w.addWorker(fmt.Sprintf("w%d", i+1), core.WorkerConfig{
			Declares: declares, Limits: walkLimits, Slots: 1 + k.rng.IntN(2), Bytes: core.Bytes(k.rng.IntN(12)),
			Pass: core.PassLimits{Generations: 1 + k.rng.IntN(6), Size: core.Bytes(2 + k.rng.IntN(8))}, Writes: writes,
		})
	}
	for _, name := range k.tables {
		k.w.lake.place(name, newTable(1+k.rng.IntN(3)))
	}
	return k
}

// newDirectWalk has two workers that write the shards of both tables, and sometimes a master that owns
// nothing.
func newDirectWalk(seed uint64) *walk {
	k := emptyWalk(seed)
	if k.chance(50) {
		k.w.addMaster("m1", core.Declaration{}, walkLimits)
	}
	for i, shards := range [][]core.ShardID{{"s001", "s003"}, {"s002"}} {
		self := core.SelfMerge{Trigger: core.Trigger{Generations: 3, Age: time.Minute}, Slots: 1 + k.rng.IntN(2)}
		var writes []core.Written
		for _, name := range k.tables {
			writes = append(writes, core.Written{Target: name, Shards: shards})
		}
		k.w.addWorker(fmt.Sprintf("w%d", i+1), core.WorkerConfig{Limits: walkLimits, Pass: core.PassLimits{Generations: 1 + k.rng.IntN(6)}, Writes: writes, Self: self})
	}
	for _, name := range k.tables {
		k.w.lake.tables[name] = newTable(1 + k.rng.IntN(3))
	}
	return k
}

func (k *walk) chance(percent int) bool { return k.rng.IntN(100) < percent }

func (k *walk) upTo(d time.Duration) time.Duration { return time.Duration(k.rng.Int64N(int64(d))) }

func (k *walk) delay(kind, _ string) time.Duration {
	switch {
	case kind == "late put":
		return k.upTo(5 * time.Minute)
	case k.chance(2):
		return k.upTo(20 * time.Second)
	}
	return k.upTo(50 * time.Millisecond)
}

func (k *walk) lose(kind, _ string) (lost, done bool) {
	percent := map[string]int{"kv": 4, "lake": 3, "rpc": 5, "put": 12}[kind]
	return k.chance(percent), k.chance(50)
}

// run does random things, then lets the world settle; it returns what went wrong.
func (k *walk) run() (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("panic: %v", r)
		}
	}()
	for range walkActions {
		k.act()
		k.w.run(k.upTo(15*time.Second), never)
		if len(k.w.checks.broken) > 0 {
			return k.w.checks.broken[0]
		}
	}
	k.calm()
	k.w.say("---", "the faults are over")
	if !k.w.run(walkPatience, k.quiet) {
		return "invariant 8: not everything is merged in " + walkPatience.String() + ": " + k.state()
	}
	if len(k.w.checks.broken) > 0 {
		return k.w.checks.broken[0]
	}
	return ""
}

func (k *walk) quiet() bool {
	for _, name := range k.tables {
		if k.w.lake.tables[name].pending() > 0 || Get[core.Execution](k.w.kv, core.ExecutionKey(name)).ID != "" {
			return false
		}
	}
	return true
}

func (k *walk) state() string {
	var b strings.Builder
	for _, name := range k.tables {
		e := Get[core.Execution](k.w.kv, core.ExecutionKey(name))
		fmt.Fprintf(&b, "\n%s: %s; execution %d %q on %s", name, k.w.lake.tables[name].describe(), e.Number, e.Phase, e.Endpoint)
		for _, r := range k.w.kv.Read(core.FailureRange(name), core.Range{Key: core.DemandKey(name)}) {
			b.WriteString("\n  " + r.Key + " " + r.Value)
		}
	}
	return b.String()
}

// act does one random thing to the world.
func (k *walk) act() {
	w := k.w
	p := w.procs[k.rng.IntN(len(w.procs))]
	name := k.tables[k.rng.IntN(len(k.tables))]
	t := w.lake.tables[name]
	switch n := k.rng.IntN(100); {
	case n < 35:
		s := t.shards[k.rng.IntN(len(t.shards))]
		t.flush(s)
		s.sstables[len(s.sstables)-1].size = core.Bytes(k.rng.IntN(5) - 1) // some are not measured
		if k.chance(5) {
			s.sstables[len(s.sstables)-1].size = 30 // more than any worker has room for
		}
	case n < 45:
		t.foreign()
	case n < 52:
		k.killOrStart(p)
	case n < 60:
		if p.paused {
			w.resume(p)
		} else if p.machine != nil {
			w.say("---", "%s is stopped", p.name)
			w.pause(p)
		}
	case n < 64:
		w.say("---", "%s loses the KV", p.name)
		w.cutKV(p)
	case n < 68:
		p.noRPC = true
	case n < 76:
		w.heal(p)
	case n < 79:
		w.kvDown = !w.kvDown
		w.changed()
	case n < 81:
		w.lake.down = !w.lake.down
	case n < 84:
		for _, p := range w.procs {
			if en := p.engines[name]; en != nil {
				w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 9"})
			}
		}
	case n < 90:
		k.script(t)
	case n < 93:
		if m, ok := p.machine.(*core.Master); ok && m != nil {
			w.deliver(p, core.MergeRequested{Request: w.newRequest(), Target: name})
		}
	case n < 94:
		if m, ok := p.machine.(*core.Master); ok && m != nil {
			w.deliver(p, core.AdoptRequested{Request: w.newRequest(), Target: name})
		}
	case n < 95:
		if len(w.procs) < 6 && p.machine != nil && !strings.HasPrefix(p.name, "old-") {
			w.say("---", "%s has a twin", p.name)
			w.twin(p)
		}
	case n < 97:
		w.engines = engineScript{}
	case n < 98:
		if _, ok := p.machine.(*core.Worker); ok {
			w.say("---", "%s is drained", p.name)
			w.deliver(p, core.DrainRequested{})
		}
	}
}

func (k *walk) killOrStart(p *process) {
	switch {
	case p.machine == nil:
		k.w.boot(p)
	case k.chance(70):
		k.w.say("---", "%s is killed", p.name)
		k.w.kill(p)
	default:
		k.w.say("---", "%s is killed and started", p.name)
		k.w.kill(p)
		k.w.boot(p)
	}
}

func (k *walk) script(t *table) {
	k.w.engines = []engineScript{
		{}, {silent: true}, {deaf: true}, {strict: true}, {lying: true},
		{fail: core.Failure{Code: core.CodeEngineOOM, Detail: "out of memory"}},
		{fail: core.Failure{Code: core.CodeSSTableCorrupt, Detail: "corrupt", Shard: t.shards[0].id, Generation: 1}},
		{memory: core.Bytes(1 + k.rng.IntN(4))}, {chokes: t.shards[k.rng.IntN(len(t.shards))].id},
	}[k.rng.IntN(9)]
}

// calm ends all faults; what is on its way still arrives when it likes.
func (k *walk) calm() {
	w := k.w
	w.kvDown, w.lake.down, w.engines = false, false, engineScript{}
	w.faults.lose = func(string, string) (bool, bool) { return false, false }
	w.faults.delay = func(string, string) time.Duration { return k.upTo(20 * time.Millisecond) }
	for _, p := range w.procs {
		switch {
		case strings.HasPrefix(p.name, "old-"):
			w.kill(p)
		case p.machine == nil:
			w.boot(p)
		case p.paused:
			w.resume(p)
		}
		if m, ok := p.machine.(*core.Worker); ok && !m.Load().Accepting {
			w.kill(p) // whoever drains a worker stops it and starts another
			w.boot(p)
		}
		w.heal(p)
		for _, name := range slices.Sorted(maps.Keys(p.engines)) {
			w.hears(p.engines[name])
		}
	}
}
