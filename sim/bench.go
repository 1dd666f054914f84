package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// BenchRun is a run of the fleet that speed is measured on.
func BenchRun(seed uint64, hours float64) Options {
	p := benchMix(seed, hours)
	return Options{Seed: seed, Hours: hours, Profile: &p}
}

// benchMix is the fleet that speed is measured on: two masters, four workers and eight tables, each of which takes
// writes all the time, under faults at their usual rates. Those that stop a table until a person helps are left out
// (looks at another history than there is, users who change it, operators who drain): a table that nobody merges for a
// day makes no figures.
func benchMix(seed uint64, hours float64) Profile {
	return Profile{
		Seed: seed, Hours: hours, Masters: 2, Workers: 4, Tables: 8, Shards: 2, Slots: 2, Pass: 4,
		Limits: core.Limits{
			Queue: 10 * time.Minute, Execution: 20 * time.Minute, NoProgress: 3 * time.Minute, CancelGrace: time.Minute,
			Barrier: 2 * time.Minute, Probe: 10 * time.Second, KVHold: time.Minute, Poll: 15 * time.Second,
		},
		Rates: Rates{
			Lose: 20, Slow: 20, Lag: 40, Twice: 20, KVLose: 15, LakeLose: 15, Blind: 15, Crash: 1, Put: 50, Late: 200,
			Engine: 40, Work: 10 * time.Second, Every: time.Minute,
			Process: 40, Pause: 40, Cut: 40, KVDown: 10, LakeDown: 10, Clock: 15, Compact: 20,
			Write: 30 * time.Second, Client: 30 * time.Second,
		},
	}
}

// Recording is everything that the machines of a run were told, so that they can be told again with nothing
// around them.
type Recording struct {
	steps    []recorded
	machines int
}

// recorded is the start of a machine, or one step of it.
type recorded struct {
	machine int // which one; they are counted in the order of their starts
	start   func() machine
	at      core.Moment
	event   core.Event
}

// Record runs a seed and keeps what its machines were told.
func Record(o Options) (*Recording, Result) {
	o.record = &Recording{}
	res := Run(o)
	return o.record, res
}

// Steps is how many steps a replay takes.
func (r *Recording) Steps() int { return len(r.steps) - r.machines }

// Replay starts the machines anew and gives them all their events. What they want is thrown away: the events
// are what came of it the first time.
func (r *Recording) Replay() (effects int) {
	var machines []machine
	for _, s := range r.steps {
		if s.start != nil {
			machines = append(machines, s.start())
			continue
		}
		effects += len(machines[s.machine].Step(s.at, s.event))
	}
	return effects
}

// started notes a machine's start; it returns the machine's number.
func (r *Recording) started(start func() machine) int {
	if r == nil {
		return 0
	}
	r.steps = append(r.steps, recorded{start: start})
	r.machines++
	return r.machines - 1
}

func (r *Recording) step(machine int, at core.Moment, ev core.Event) {
	if r != nil {
		r.steps = append(r.steps, recorded{machine: machine, at: at, event: ev})
	}
}
