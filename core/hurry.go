package core

import (
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// A person may ask for a merge that waits for no budget. Each endpoint has one such attempt of it, and no more: what it
// fails is charged and waited for like any failure.

// hurry is a reservation of ours that did not wait, while it is not known whether it was made.
type hurry struct {
	id       ExecutionID
	number   uint64
	endpoint Endpoint
}

// hurried notes which reservations that did not wait were made, also where the answers to them were lost: the table's
// record says who had their number. Where it shows only later ones, because the execution came and went between two looks
// of ours, they count as made: a wish that is forgotten can be told again, and one that is granted twice skips a wait that
// nobody wanted to skip.
func (tr *track) hurried(tv *TargetView) {
	last := tv.Table.Value
	tr.hasty = slices.DeleteFunc(tr.hasty, func(h hurry) bool {
		if last.LastExecution < h.number {
			return false
		}
		if last.LastID == h.id || last.LastExecution > h.number && !guard.Out(guard.LostHurryIsOver) {
			tr.rushed[h.endpoint] = true
		}
		return true
	})
}
