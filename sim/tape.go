package sim

import "github.com/sluice-data/sluice/core"

// Tape is what the machines of a run were told: every event of every life of every process, with its moment, in
// order. Machines are pure, so fresh ones that are told the same do the same, without a world around them: that is
// how fast the bare core is measured.
type Tape struct {
	starts []func() machine // one for each life
	told   []told
	lives  map[string]int // of the lives under way, by instance
	// Effects counts what the machines wanted while the tape was made.
	Effects int
}

// told is one step of one life.
type told struct {
	life int
	at   core.Moment
	ev   core.Event
}

// Steps is how many steps are on the tape.
func (t *Tape) Steps() int { return len(t.told) }

// note takes down one step of a process; t may be nil.
func (t *Tape) note(p *process, at core.Moment, ev core.Event, effects int) {
	if t == nil {
		return
	}
	life, ok := t.lives[p.id]
	if !ok {
		life = len(t.starts)
		t.lives[p.id] = life
		id, start := core.Instance(p.id), p.start
		t.starts = append(t.starts, func() machine { return start(id) })
	}
	t.told = append(t.told, told{life, at, ev})
	t.Effects += effects
}

// Record runs a profile and keeps what its machines were told.
func Record(p Profile) (*Tape, Result) {
	t := &Tape{lives: map[string]int{}}
	return t, Run(Options{Seed: p.Seed, Hours: p.Hours, Profile: &p, tape: t})
}

// Machines are fresh ones for all lives on the tape.
func (t *Tape) Machines() []Machine {
	all := make([]Machine, len(t.starts))
	for i, start := range t.starts {
		all[i] = start()
	}
	return all
}

// Machine is one of core's machines.
type Machine interface{ machine }

// Play tells the machines what is on the tape and counts the effects that they want. It does nothing else.
func (t *Tape) Play(machines []Machine) (effects int) {
	for _, s := range t.told {
		effects += len(machines[s.life].Step(s.at, s.ev))
	}
	return effects
}
