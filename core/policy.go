package core

import (
	"fmt"
	"time"
)

// Policy is the optional document of one table: its mode, and what is to be different for it. What it does not
// set is left to the configuration of the processes. Masters and workers go by it as their watch shows it, so
// that a limit that is raised counts for the execution that runs, too.
type Policy struct {
	Mode Mode `json:"mode,omitempty"`
	// What is pending is worth a merge from this many SSTables on, or when one has waited for so long; 0 turns
	// one off.
	PendingGenerations *int   `json:"pending_generations,omitempty"`
	PendingSeconds     *int64 `json:"pending_seconds,omitempty"`
	// One pass takes at most this many SSTables, and this much of them. No pass takes more than its worker has
	// room for, whatever this says.
	PassGenerations *int   `json:"pass_generations,omitempty"`
	PassBytes       *Bytes `json:"pass_bytes,omitempty"`
	// See [Limits]; an execution limit of 0 is none.
	QueueSeconds      *int64 `json:"queue_seconds,omitempty"`
	ExecutionSeconds  *int64 `json:"execution_seconds,omitempty"`
	NoProgressSeconds *int64 `json:"no_progress_seconds,omitempty"`
	// Kinds are the maintenance that the table has by itself while it is owned: compact, index, cleanup. Each is asked
	// for once in MaintenanceSeconds at most, and compaction from so many small fragments on.
	Kinds              []Kind `json:"kinds,omitempty"`
	MaintenanceSeconds *int64 `json:"maintenance_seconds,omitempty"`
	SmallFragments     *int   `json:"small_fragments,omitempty"`
	// See [Graces].
	ReaderGraceSeconds *int64 `json:"reader_grace_seconds,omitempty"`
	RetentionSeconds   *int64 `json:"reclaim_retention_seconds,omitempty"`
}

// Validate says what is wrong with a policy that somebody has written.
func (p Policy) Validate() error {
	if p.Mode != "" && rank(p.Mode) < 0 {
		return fmt.Errorf("policy mode is %q; use direct, owned or draining", p.Mode)
	}
	for _, k := range p.Kinds {
		if !k.Maintains() {
			return fmt.Errorf("policy kinds has %q; use compact, index and cleanup (merges need no naming)", k)
		}
	}
	for _, n := range []struct {
		name        string
		set         bool
		value, from int64
	}{
		{"pending_generations", p.PendingGenerations != nil, int64(orZero(p.PendingGenerations)), 0},
		{"pending_seconds", p.PendingSeconds != nil, orZero(p.PendingSeconds), 0},
		{"pass_generations", p.PassGenerations != nil, int64(orZero(p.PassGenerations)), 1},
		{"pass_bytes", p.PassBytes != nil, int64(orZero(p.PassBytes)), 1},
		{"queue_seconds", p.QueueSeconds != nil, orZero(p.QueueSeconds), 1},
		{"execution_seconds", p.ExecutionSeconds != nil, orZero(p.ExecutionSeconds), 0},
		{"no_progress_seconds", p.NoProgressSeconds != nil, orZero(p.NoProgressSeconds), 1},
		{"maintenance_seconds", p.MaintenanceSeconds != nil, orZero(p.MaintenanceSeconds), 1},
		{"small_fragments", p.SmallFragments != nil, int64(orZero(p.SmallFragments)), 2},
		{"reader_grace_seconds", p.ReaderGraceSeconds != nil, orZero(p.ReaderGraceSeconds), 1},
		{"reclaim_retention_seconds", p.RetentionSeconds != nil, orZero(p.RetentionSeconds), 1},
	} {
		if n.set && n.value < n.from {
			return fmt.Errorf("policy %s is %d; it must be %d at least", n.name, n.value, n.from)
		}
	}
	return nil
}

func orZero[N any](p *N) (n N) {
	if p != nil {
		n = *p
	}
	return n
}

// Trigger is what the policy says of what is worth a merge; p may be nil.
func (p *Policy) Trigger(otherwise Trigger) Trigger {
	if p != nil && p.PendingGenerations != nil {
		otherwise.Generations = *p.PendingGenerations
	}
	if p != nil && p.PendingSeconds != nil {
		otherwise.Age = time.Duration(*p.PendingSeconds) * time.Second
	}
	return otherwise
}

// Pass is what the policy says of how much a pass takes; p may be nil.
func (p *Policy) Pass(otherwise PassLimits) PassLimits {
	if p == nil {
		return otherwise
	}
	if n := orZero(p.PassGenerations); n > 0 {
		otherwise.Generations = n
	}
	if b := orZero(p.PassBytes); b > 0 {
		otherwise.Size = b
	}
	return otherwise
}

// Limits is what the policy says of how long things may take; p may be nil. A limit below what Validate
// lets through is nobody's wish, and not set.
func (p *Policy) Limits(otherwise Limits) Limits {
	if p == nil {
		return otherwise
	}
	seconds := func(d *time.Duration, p *int64) {
		if n := orZero(p); n > 0 {
			*d = time.Duration(n) * time.Second
		}
	}
	seconds(&otherwise.Queue, p.QueueSeconds)
	seconds(&otherwise.NoProgress, p.NoProgressSeconds)
	seconds(&otherwise.Execution, p.ExecutionSeconds)
	if p.ExecutionSeconds != nil && *p.ExecutionSeconds == 0 {
		otherwise.Execution = NoExecutionLimit
	}
	return otherwise
}

// maintenance is how often each kind is asked for, and from how many small fragments on compaction is; p may be nil.
func (p *Policy) maintenance() (every time.Duration, small int) {
	every, small = maintenanceEvery, 16
	if p != nil && orZero(p.MaintenanceSeconds) > 0 {
		every = time.Duration(*p.MaintenanceSeconds) * time.Second
	}
	if p != nil && orZero(p.SmallFragments) > 1 {
		small = *p.SmallFragments
	}
	return every, small
}

// limits are those of one table, as this master knows its policy.
func (m *Master) limits(t Target) Limits {
	return m.view.Target(t).Policy.peek().Limits(m.cfg.Limits)
}

// limits are those of one table, as this worker knows its policy.
func (w *Worker) limits(t Target) Limits {
	return w.view.Target(t).Policy.peek().Limits(w.cfg.Limits)
}

// passes are what one pass of a table takes on this worker.
func (w *Worker) passes(t Target) PassLimits {
	return w.view.Target(t).Policy.peek().Pass(w.cfg.Pass)
}
