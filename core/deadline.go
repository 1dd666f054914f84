package core

import (
	"fmt"
	"time"
)

// Limits bound how long things may take. Every duration is measured on the monotonic clock of the
// process that observes: a new observer gives a fresh window, so clock skew can delay a recovery but
// never cause one. Workers enforce all limits on their own executions; masters are the second line.
type Limits struct {
	// Queue bounds the time from the reservation to the start. Nobody is charged for it.
	Queue time.Duration
	// Execution bounds the time from the start; 0 means no bound.
	Execution time.Duration
	// NoProgress bounds the time since the last completed batch, phase or storage write.
	NoProgress time.Duration
	// CancelGrace is how long a cancelled execution has to end by itself before it is frozen.
	CancelGrace time.Duration
	// Barrier and BarrierRounds bound one try to occupy every admitted version. After that ownership is
	// kept and the next try waits.
	Barrier       time.Duration
	BarrierRounds int
	// Probe is how often a master asks a worker about its execution; ProbeFailures in a row raise
	// suspicion, which alone recovers nothing.
	Probe         time.Duration
	ProbeFailures int
	// KVHold bounds how long a commit is held while its admission can't be asked.
	KVHold time.Duration
	// Poll is how often a master looks at owned tables by itself.
	Poll time.Duration
}

// allowing are the limits of an execution whose step under way has declared how long it may take.
func (l Limits) allowing(c Counters) Limits {
	l.NoProgress = max(l.NoProgress, time.Duration(c.Allowance)*time.Millisecond)
	return l
}

// withDefaults fills what was left zero. NB: Execution 0 means "none" only when set by NoExecutionLimit.
func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&l.Queue, 600*time.Second)
	set(&l.Execution, time.Hour)
	set(&l.NoProgress, 600*time.Second)
	set(&l.CancelGrace, 60*time.Second)
	set(&l.Barrier, 120*time.Second)
	set(&l.Probe, 10*time.Second)
	set(&l.KVHold, 60*time.Second)
	set(&l.Poll, 60*time.Second)
	if l.BarrierRounds == 0 {
		l.BarrierRounds = 64
	}
	if l.ProbeFailures == 0 {
		l.ProbeFailures = 3
	}
	return l
}

// NoExecutionLimit as [Limits.Execution] lets an execution run for as long as it makes progress.
const NoExecutionLimit time.Duration = -1

// Validate says what is wrong with limits that were set by hand.
func (l Limits) Validate() error {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"queue", l.Queue}, {"no-progress", l.NoProgress}, {"cancel-grace", l.CancelGrace},
		{"barrier", l.Barrier}, {"probe", l.Probe}, {"kv-hold", l.KVHold}, {"poll", l.Poll},
	} {
		if d.d < 0 {
			return fmt.Errorf("limit %s is %v; it must not be negative", d.name, d.d)
		}
	}
	if l.Execution < 0 && l.Execution != NoExecutionLimit {
		return fmt.Errorf("limit execution is %v; use 0 for the default or none", l.Execution)
	}
	return nil
}

// alarm is a moment to wake up at; the zero alarm never rings.
type alarm struct {
	At  MonoTime
	Set bool
}

func alarmAt(t MonoTime) alarm { return alarm{t, true} }

// due reports whether the alarm has rung by now. A timer that comes late or twice finds the same answer.
func (a alarm) due(now MonoTime) bool { return a.Set && now >= a.At }

// earliest is the alarm that rings first.
func earliest(alarms ...alarm) alarm {
	var first alarm
	for _, a := range alarms {
		if a.Set && (!first.Set || a.At < first.At) {
			first = a
		}
	}
	return first
}

// settleDelay is the time until the n-th try (from 1) to settle an execution whose barrier failed.
func settleDelay(n int) time.Duration {
	steps := []time.Duration{30, 60, 120, 240, 300}
	return steps[min(n, len(steps))-1] * time.Second
}
