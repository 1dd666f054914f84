package core

import (
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// A worker on which executions of a target come to nothing must not keep it from the others (invariant 8):
// one that no master can reach, or whose engines all die, would be chosen again and again, because a table
// stays with one worker while nothing changes. So each master remembers, for each target, the workers on
// which it last failed. It is a preference and nothing more: they are chosen again when nobody else is there,
// the one that failed longest ago first; while others are only busy, they are waited for, as long as another
// failure would cost. A success clears the worker that had it and no other, or each merge
// would pay for another try of a bad one. Time forgives, and a master that restarts has forgotten.

// shunFor is how long a worker is shunned.
const shunFor = time.Hour

// shunned is a worker on which executions of a target came to nothing.
type shunned struct {
	endpoint Endpoint
	at       MonoTime
	started  bool // it had begun: perhaps the data was bad, and not the worker
}

// last is what a master has seen of the execution that a target had last.
type last struct {
	id       ExecutionID
	endpoint Endpoint
	started  bool
	attempts int // charged to the target when it was seen first
}

// charged counts the attempts of all budgets of the target.
func (tv *TargetView) charged() int {
	n := 0
	for _, f := range tv.Failures {
		n += f.Value.Attempts
	}
	return n
}

// ran notes the execution that the target has.
func (tr *track) ran(e Execution, tv *TargetView) {
	if tr.last.id != e.ID {
		tr.last = last{id: e.ID, endpoint: e.Endpoint, attempts: tv.charged()}
	}
	tr.last.started = tr.last.started || e.Started > 0
}

// ended notes that it is released: to no avail if it never started, or if the target was charged since.
func (tr *track) ended(at Moment, tv *TargetView) {
	l := tr.last
	tr.last = last{}
	if l.id == "" {
		return
	}
	tr.shunned = slices.DeleteFunc(tr.shunned, func(s shunned) bool {
		return s.endpoint == l.endpoint || at.Mono.Since(s.at) > shunFor
	})
	if !l.started || tv.charged() > l.attempts {
		tr.shunned = append(tr.shunned, shunned{l.endpoint, at.Mono, l.started})
	}
}

// shun is how much a worker is shunned: -1 for one that is not, else more the later it failed. One that has not
// even begun comes last for twice the queue limit that it has cost: a shard that nobody can merge makes all
// workers fail, and those that answer must not be passed by for one that doesn't each time.
func (tr *track) shun(at Moment, e Endpoint, queue time.Duration) int {
	i := slices.IndexFunc(tr.shunned, func(s shunned) bool { return s.endpoint == e })
	if i >= 0 && !tr.shunned[i].started && at.Mono.Since(tr.shunned[i].at) < 2*queue && !guard.Out(guard.SilentComesLast) {
		i += len(tr.shunned)
	}
	return i
}

// silent reports whether a worker was reserved for the target in the last while and did not even begin. Maintenance has
// time: it tries such a worker so seldom that merges have the table for most of the time meanwhile.
func (tr *track) silent(at Moment, e Endpoint, while time.Duration) bool {
	return !guard.Out(guard.SilentIsLeftAlone) && slices.ContainsFunc(tr.shunned, func(s shunned) bool {
		return s.endpoint == e && !s.started && at.Mono.Since(s.at) < while
	})
}

// spares reports whether a shunned worker is passed by while others are busy: for as long as a reservation that
// nobody starts would cost.
func (tr *track) spares(at Moment, queue time.Duration) bool {
	if !tr.spare.Set {
		tr.spare = alarmAt(at.Mono.Add(queue))
	}
	return !tr.spare.due(at.Mono) && !guard.Out(guard.FailedWorkersLast)
}
