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
	Rates   Rates
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

// ProfileOf is what a seed draws first.
func ProfileOf(seed uint64, hours float64) Profile { return newProfile(seed, hours) }

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
			NoProgress: span(25*time.Second, 3*time.Minute), CancelGrace: span(8*time.Second, time.Minute),
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
	p.Uneven = newUneven(p)
	return p
}

func (p Profile) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d masters, %d workers with %d slots, %d tables of up to %d shards, %d generations a pass, %g h of faults\n",
		p.Seed, p.Masters, p.Workers, p.Slots, p.Tables, p.Shards, p.Pass, p.Hours)
	l := p.Limits
	short := func(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
	fmt.Fprintf(&b, "  limits: queue %v, execution %v, no progress %v, grace %v, barrier %v, probe %v, hold %v, poll %v\n",
		short(l.Queue), short(l.Execution), short(l.NoProgress), short(l.CancelGrace), short(l.Barrier), short(l.Probe), short(l.KVHold), short(l.Poll))
	b.WriteString(p.Uneven.String())
	r := p.Rates
	fmt.Fprintf(&b, "  per mille of messages: lost %d, slow %d, late watches %d, twice %d, KV lost %d, lake lost %d, blind %d, stale %d, crash %d, bad puts %d (late %d), bad engines %d; engines work up to %v\n",
		r.Lose, r.Slow, r.Lag, r.Twice, r.KVLose, r.LakeLose, r.Blind, r.Stale, r.Crash, r.Put, r.Late, r.Engine, r.Work)
	fmt.Fprintf(&b, "  something every %v: process %d, pause %d, cut %d, KV down %d, lake down %d, clock %d, history %d, operator %d, compaction %d, pair %d, drain %d; flushes every %v, clients every %v, %d per mille with another schema; plots %d",
		short(r.Every), r.Process, r.Pause, r.Cut, r.KVDown, r.LakeDown, r.Clock, r.History, r.Operator, r.Compact, r.Pair, r.Drain, short(r.Write), short(r.Client), r.Schema, r.Plot)
	return b.String()
}

// targets are the tables of the fleet. One name is the beginning of another.
func (p Profile) targets() []core.Target {
	return []core.Target{"db", "db/events", "logs", "db/events/raw", "a b", "users", "traces", "spans"}[:p.Tables]
}
