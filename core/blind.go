package core

import "time"

// A master that can't look at the lake says nothing of the table: its own access may be what is broken, while
// the workers and the other masters see everything. So its failed look is an attempt of nobody and charged to
// nobody, or it would stop a healthy table for hours. It waits by itself, for a bounded time, and says so; the
// other masters go on.

// blindness is what a master remembers of its looks at one table that failed in a row.
type blindness struct {
	looks int
	until alarm // it looks at the table to reserve it again
}

// blindFor bounds how long a master waits before it looks again.
const blindFor = time.Minute

// seen notes how a look went.
func (tr *track) seen(f Failure) {
	if !f.unseen() {
		tr.blind = blindness{}
	}
}

// sees reports whether a look, or what was done with it, says something of the table. If not, the next one
// waits, longer each time.
func (m *Master) sees(at Moment, tr *track, f Failure) bool {
	if tr.seen(f); !f.unseen() {
		return true
	}
	tr.blind.looks++
	wait, _ := retryDelay(Transient, min(tr.blind.looks, AttentionFrom-1))
	tr.blind.until = alarmAt(at.Mono.Add(min(wait, blindFor)))
	m.say(tr, f)
	return false
}
