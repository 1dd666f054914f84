package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// run is one seed: a world with its fleet, its storm, and what happens to both.
type run struct {
	profile Profile
	src     *source
	storm   *storm
	w       *world
	targets []core.Target
	copies  map[core.Target]*table // older copies of tables, as backups hold them
	names   [2]string              // the master and the worker that will be whole after the faults
	core    []*process             // they, then: whoever has the name
	broken  []string               // what is broken for good by then
	turns   int                    // of operators, over tables that may be direct or owned
	told    int                    // what they have said to masters
	stage   period
	until   bool // it stops in the middle, to be looked at
}

// period is where a run stands.
type period uint8

const (
	warming period = iota
	storming
	healed
)

// newRun makes the fleet of a profile.
func newRun(p Profile, src *source, record *Recording) *run {
	r := &run{profile: p, src: src, w: newWorld(), targets: p.Targets(), copies: map[core.Target]*table{}}
	r.storm = &storm{src: src, rates: p.Rates, memory: p.Uneven.Memory, stalls: p.Stalls, over: true}
	w := r.w
	w.faults = r.storm.weather()
	w.quietly, w.record = true, record
	w.checks.untouched = p.Rates.History == 0 && p.Rates.Stale == 0
	w.checks.noProgress, w.checks.mayRun = p.Limits.NoProgress, p.Limits.Execution
	w.checks.leastPatience, w.checks.leastProbe = p.Limits.NoProgress, p.Limits.Probe
	w.checks.longest = p.Limits.NoProgress * time.Duration(100+p.Uneven.Spread) / 100
	draw := rand.New(rand.NewPCG(p.Seed, 0xf1ee7))
	for _, t := range r.targets {
		w.lake.place(t, newTable(1+draw.IntN(p.Shards)))
		r.spoil(t)
		if p.Upkeep.Indexed {
			w.lake.tables[t].index()
		}
	}
	u, own := p.Uneven, rand.New(rand.NewPCG(p.Seed, 0x0_f1ee7))
	for i := range p.Masters {
		last := i == p.Masters-1
		cfg := core.MasterConfig{ID: fmt.Sprintf("m%d", i+1), Declares: r.declares(u.Silent && last), Limits: u.limits(own, p.Limits)}
		if !last {
			cfg.Trigger = u.Trigger
		}
		if p.Hasty && i == 0 {
			cfg.Limits = hasty(cfg.Limits)
		}
		w.checks.leastPatience = min(w.checks.leastPatience, cfg.Limits.NoProgress)
		r.clock(draw, w.master(cfg))
	}
	for i := range p.Workers {
		cfg := core.WorkerConfig{
			Declares: r.declares(false), Limits: u.limits(own, p.Limits), Slots: p.Slots, Bytes: u.Room, Pass: r.pass(own), Writes: r.writes(i), Self: r.self(own), Kinds: r.can(i),
		}
		if u.Unsafe && i == p.Workers-1 {
			cfg.Unsafe = "put-if-absent overwrites"
		}
		r.clock(draw, w.addWorker(fmt.Sprintf("w%d", i+1), cfg))
	}
	able := p.Workers
	if u.Unsafe {
		able--
	}
	r.names = [2]string{w.procs[draw.IntN(p.Masters)].name, w.procs[p.Masters+draw.IntN(able)].name}
	for _, t := range r.targets {
		r.scheming(t)
		r.reads(t)
		r.every("writer/"+string(t), p.Rates.Write, func(v int64) { r.flush(t, v) })
		r.every("client/"+string(t), p.Rates.Client, func(v int64) { r.client(t, v) })
	}
	r.every("world", p.Rates.Every, r.happen)
	if p.Upkeep.Every > 0 {
		for _, t := range r.targets {
			r.write(core.Txn{Name: "policy", Then: []core.Op{core.Put(core.PolicyKey(t), core.Encode(p.Upkeep.policy()))}})
		}
	}
	return r
}

// writes are the shards that a worker of the fleet writes: in half of the fleets each shard has a writer, but for
// some of them.
func (r *run) writes(worker int) (out []core.Written) {
	draw := rand.New(rand.NewPCG(r.profile.Seed, 0x5c41be5))
	if draw.IntN(2) == 0 && r.profile.Uneven.Direct == 0 {
		return nil
	}
	for _, t := range r.targets {
		written := core.Written{Target: t}
		for _, s := range r.w.lake.tables[t].shards {
			if draw.IntN(r.profile.Workers+1) == worker {
				written.Shards = append(written.Shards, s.id)
			}
		}
		if len(written.Shards) > 0 {
			out = append(out, written)
		}
	}
	return out
}

// clock sets a process's clocks, which are nobody else's.
func (r *run) clock(draw *rand.Rand, p *process) {
	p.clock.zero = core.MonoTime(draw.Int64N(int64(100 * time.Hour)))
	if r.profile.Rates.Clock > 0 {
		p.clock.drift = draw.Int64N(60) - 30
		p.clock.skew = core.WallMillis(draw.Int64N(int64(20*time.Hour/time.Millisecond)) - int64(10*time.Hour/time.Millisecond))
	}
	p.rearm()
}

// every makes a choice at intervals, until the faults are over. A choice of 0 is no event.
func (r *run) every(name string, gap time.Duration, do func(v int64)) {
	r.w.after(gap/2+time.Duration(r.src.jitter(name, int64(gap))), func() {
		if r.stage == healed {
			return
		}
		v := r.src.choose(name, func(d *rand.Rand) int64 { return 1 + d.Int64N(1<<40) })
		if v != 0 {
			do(v)
		}
		r.every(name, gap, do)
	})
}

// mostPending is where the writers of a shard wait: more would only make runs slow.
const mostPending = 60

// flush adds a generation to a shard of a table, or a few.
func (r *run) flush(target core.Target, v int64) {
	t := r.w.lake.tables[target]
	s := t.shards[int(v/8)%len(t.shards)]
	n := 1
	if t.gone || len(s.above(t.head().Marks.Of(s.id))) >= mostPending {
		return
	}
	if v%8 == 0 {
		n = 5
	}
	if r.meetsDrain(target) {
		r.w.cover.rare("a drain meets a flush")
	}
	for i := range n {
		t.flush(s)
		last := &s.sstables[len(s.sstables)-1]
		if size, measured := r.size(v >> i); measured {
			last.size = size
		} else {
			last.size = core.Unmeasured
		}
	}
	r.w.cover["flushes"] += n
	r.flushed(target, s.id)
	r.w.checks.step()
}

// flushed tells the worker that writes a shard.
func (r *run) flushed(target core.Target, s core.ShardID) {
	for _, p := range r.w.procs {
		for _, written := range p.writes {
			if written.Target == target && slices.Contains(written.Shards, s) {
				r.w.deliver(p, core.Flushed{Target: target})
			}
		}
	}
}
