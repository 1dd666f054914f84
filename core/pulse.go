package core

import (
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Pulse is what an observer has seen of a running execution: two signals that must not be mixed up. That its
// worker answers says that it lives; that completed work grows says that it gets somewhere (invariant 7).
type Pulse struct {
	Since    MonoTime // the observer's window begins here
	Sampled  MonoTime // it looked last
	Heard    MonoTime // the worker answered last, or the start of the window
	Progress MonoTime // completed work grew last, or the start of the window
	Answered bool     // it has answered in this window
	Missed   int      // probes without an answer since
	Missing  MonoTime // the first of those
	// Allowance is what the step under way has declared that it may take.
	Allowance time.Duration
}

// Health is the one verdict on both signals.
type Health string

// The verdicts.
const (
	HealthWorking Health = "working"
	HealthSlow    Health = "slow"    // it lives, and has completed nothing for half the no-progress limit
	HealthStalled Health = "stalled" // it lives, and has completed nothing for the whole of it
	HealthGone    Health = "gone"    // it answers nothing, and nothing was completed meanwhile
	HealthUnknown Health = "unknown" // the observer has not looked for long enough to say anything
)

// sampleGap is how long an observer may go without looking before what it has seen says nothing any more.
func (l Limits) sampleGap() time.Duration { return 3*l.Probe + rpcLimit }

// Gap reports whether the observer was away for so long that its window must start anew: its own sleep is
// nobody's lack of progress.
func (p Pulse) Gap(now MonoTime, l Limits) bool {
	return now.Since(p.Sampled) > l.withDefaults().sampleGap() && !guard.Out(guard.SleepIsNoEvidence)
}

// Health judges both signals.
func (p Pulse) Health(now MonoTime, l Limits) Health {
	l = l.withDefaults()
	l.NoProgress = max(l.NoProgress, p.Allowance)
	idle := now.Since(p.Progress)
	switch {
	case p.Gap(now, l):
		return HealthUnknown
	case p.Missed >= l.ProbeFailures && p.Progress <= p.Missing:
		return HealthGone
	case !p.Answered && p.Progress == p.Since:
		return HealthUnknown
	case idle >= l.NoProgress:
		return HealthStalled
	case idle >= l.NoProgress/2:
		return HealthSlow
	}
	return HealthWorking
}

// Pulse is what this master has seen of the running execution of a target; ok is false if none runs.
func (m *Master) Pulse(t Target) (p Pulse, ok bool) {
	tr, known := m.tracks[t]
	if !known || tr.watch.ID == "" || tr.watch.Phase != Running {
		return Pulse{}, false
	}
	p = tr.watch.pulse
	p.Allowance = Limits{}.allowing(m.view.Target(t).Progress.Value.Counters).allowing(tr.watch.counters).NoProgress
	return p, true
}
