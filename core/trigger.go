package core

import "time"

// Trigger says from when on what is pending is worth a merge: as many SSTables, or one of them waiting for
// as long, whichever comes first. 0 turns one off; with both off only a request does.
type Trigger struct {
	Generations int
	Age         time.Duration
}

// DefaultTrigger is that of a table without a policy that says otherwise.
var DefaultTrigger = Trigger{Generations: 8, Age: 60 * time.Second}

// Reached reports whether the trigger pulls, with this much pending, the oldest of it seen this long ago.
func (t Trigger) Reached(pending int, age time.Duration) bool {
	return pending > 0 && (t.Generations > 0 && pending >= t.Generations || t.Age > 0 && age >= t.Age)
}

// nextAt is when what is pending since then reaches the trigger by its age.
func (t Trigger) nextAt(since MonoTime) alarm {
	if t.Age == 0 {
		return alarm{}
	}
	return alarmAt(since.Add(t.Age))
}
