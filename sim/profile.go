package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Profile is what one seed draws first: the fleet, and how often each kind of fault comes. Some kinds are
// off, some extreme.
type Profile struct {
	// Name is that of the named profile to which it was narrowed; empty is what the seed draws.
	Name    string
	Seed    uint64
	Hours   float64 // of faults, in virtual time
	Masters int
	Workers int
	Tables  int
	Shards  int // of each table, at most
	Slots   int
	Pass    int // generations a pass, at most
	Limits  core.Limits
	Uneven  Uneven
	Upkeep  Upkeep
	Rates   Rates
	// Stalls are the steps of the protocol that are slow now and then.
	Stalls []string
	// Hasty: the first master has a configuration of its own, and gives up on executions four times as soon.
	Hasty bool
	// Takeover: everything is such that tables change hands while their owner lives and commits.
	Takeover bool
}

// takeover makes hand-overs under a living owner likely, which takes many things at once: a hasty master that
// can't reach the worker, steps that dawdle between the judgement and what it leads to, an engine whose commits
// are overtaken by those of clients and land late.
func takeover(p *Profile, r *rand.Rand) {
	p.Hasty, p.Stalls = true, []string{"freeze", []string{"admit", "reserve", "cancel", "progress"}[r.IntN(4)]}
	p.Workers = max(2, p.Workers)
	p.Limits.NoProgress = 25*time.Second + time.Duration(r.IntN(10))*time.Second
	p.Rates.Put, p.Rates.Late, p.Rates.Engine, p.Rates.Crash = 250, 700, 0, 0
	p.Rates.Work, p.Rates.Client = time.Minute, time.Duration(2+r.IntN(8))*time.Second
	p.Rates.Every, p.Rates.Cut, p.Rates.Process, p.Rates.Pause = 20*time.Second, 300, 30, 30
}

// hasty are the limits of a master that has a quarter of the others' patience.
func hasty(l core.Limits) core.Limits {
	l.NoProgress, l.CancelGrace = l.NoProgress/4, l.CancelGrace/4
	return l
}

// Rates are per mille of the messages or moments that they speak of.
type Rates struct {
	Lose, Slow, Lag, Twice, KVLose, LakeLose, Blind, Stale, Crash, Put, Late int
	// Work is how long an engine works, at most.
	Work time.Duration
	// Engine is per mille of the executions whose engine doesn't just work.
	Engine int
	// Every is how often something happens to the world as a whole; the rest are the weights of what.
	Every                                                                    time.Duration
	Process, Pause, Cut, KVDown, LakeDown, Clock, History, Operator, Compact int
	// Pair is the weight of a way between two processes, or to the KV, that is cut in one direction or both;
	// Drain that of a worker that is told to take nothing new.
	Pair, Drain int
	// Schema is per mille of the commits of clients.
	Schema int
	// Plot is per mille of the tables to which something unlikely happens in several steps: see plot.go.
	Plot          int
	Write, Client time.Duration // how often a table is written, by either
}

// newProfile draws the profile of a seed.
func newProfile(seed uint64, hours float64) Profile {
	r := rand.New(rand.NewPCG(seed, 0x5e_ed))
	// swarm: a third of the kinds are off, a few are extreme.
	rate := func(usual int) int {
		switch n := r.IntN(12); {
		case n < 4:
			return 0
		case n < 11:
			return 1 + r.IntN(usual)
		}
		return min(700, 6*usual)
	}
	span := func(least, most time.Duration) time.Duration {
		return least + time.Duration(r.Int64N(int64(most-least)))
	}
	p := Profile{
		Seed: seed, Hours: hours, Masters: 1 + r.IntN(3), Workers: 1 + r.IntN(4), Tables: 1 + r.IntN(3),
		Shards: 1 + r.IntN(3), Slots: 1 + r.IntN(3), Pass: 1 + r.IntN(6),
		Limits: core.Limits{
			Queue: span(time.Minute, 10*time.Minute), Execution: span(4*time.Minute, 20*time.Minute),
			NoProgress: []time.Duration{span(25*time.Second, 40*time.Second), span(40*time.Second, 3*time.Minute)}[r.IntN(2)], CancelGrace: span(8*time.Second, time.Minute),
			Barrier: span(30*time.Second, 2*time.Minute), Probe: span(4*time.Second, 12*time.Second),
			KVHold: span(10*time.Second, time.Minute), Poll: span(15*time.Second, time.Minute),
		},
		Rates: Rates{
			Lose: rate(60), Slow: rate(40), Lag: rate(120), Twice: rate(60), KVLose: rate(50), LakeLose: rate(40), Blind: rate(40),
			Stale: rate(20), Crash: rate(3), Put: rate(150), Late: rate(400), Engine: rate(250),
			Work:    []time.Duration{0, 10 * time.Second, time.Minute, 4 * time.Minute}[r.IntN(4)],
			Every:   span(4*time.Second, 40*time.Second),
			Process: rate(100), Pause: rate(100), Cut: rate(100), KVDown: rate(50), LakeDown: rate(30),
			Clock: rate(30), History: rate(12), Operator: rate(100), Compact: rate(40),
			Pair: rate(100), Drain: rate(20), Schema: rate(60), Plot: rate(900),
			Write: span(5*time.Second, 3*time.Minute), Client: span(time.Second, 2*time.Second) << r.IntN(10),
		},
	}
	p.Stalls = drawStalls(r)
	p.Hasty = r.IntN(3) == 0
	if r.IntN(5) == 0 {
		p.Takeover = true
		takeover(&p, r)
	}
	p.Uneven = newUneven(p)
	p.Upkeep = newUpkeep(p)
	return p
}

func (p Profile) String() string {
	var b strings.Builder
	name := ""
	if p.Name != "" && p.Name != "drawn" {
		name = ", profile " + p.Name
	}
	fmt.Fprintf(&b, "seed %d%s: %d masters, %d workers with %d slots, %d tables of up to %d shards, %d generations a pass, %g h of faults\n",
		p.Seed, name, p.Masters, p.Workers, p.Slots, p.Tables, p.Shards, p.Pass, p.Hours)
	l := p.Limits
	short := func(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
	fmt.Fprintf(&b, "  limits: queue %v, execution %v, no progress %v, grace %v, barrier %v, probe %v, hold %v, poll %v\n",
		short(l.Queue), short(l.Execution), short(l.NoProgress), short(l.CancelGrace), short(l.Barrier), short(l.Probe), short(l.KVHold), short(l.Poll))
	b.WriteString(p.Uneven.String())
	b.WriteString(p.Upkeep.String())
	r := p.Rates
	fmt.Fprintf(&b, "  per mille of messages: lost %d, slow %d, late watches %d, twice %d, KV lost %d, lake lost %d, blind %d, stale %d, crash %d, bad puts %d (late %d), bad engines %d; engines work up to %v\n",
		r.Lose, r.Slow, r.Lag, r.Twice, r.KVLose, r.LakeLose, r.Blind, r.Stale, r.Crash, r.Put, r.Late, r.Engine, r.Work)
	fmt.Fprintf(&b, "  something every %v: process %d, pause %d, cut %d, KV down %d, lake down %d, clock %d, history %d, operator %d, compaction %d, pair %d, drain %d; flushes every %v, clients every %v, %d per mille with another schema; plots %d",
		short(r.Every), r.Process, r.Pause, r.Cut, r.KVDown, r.LakeDown, r.Clock, r.History, r.Operator, r.Compact, r.Pair, r.Drain, short(r.Write), short(r.Client), r.Schema, r.Plot)
	if p.Takeover {
		b.WriteString("; tables change hands under living owners")
	}
	if p.Hasty {
		b.WriteString("; m1 is hasty")
	}
	if len(p.Stalls) > 0 {
		fmt.Fprintf(&b, "; slow now and then: %s", strings.Join(p.Stalls, ", "))
	}
	return b.String()
}

// Targets are the tables of the fleet. One name is the beginning of another.
func (p Profile) Targets() []core.Target {
	return []core.Target{"db", "db/events", "logs", "db/events/raw", "a b", "users", "traces", "spans"}[:p.Tables]
}
