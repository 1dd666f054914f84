package core

import (
	"cmp"
	"slices"
)

// Whose turn it is among targets: who has waited longest, so that a table which is written all the time starves nobody.

// concerned are the targets to which a change matters: those that it is about; all, if a process came or went;
// and those that wait for room, if somebody may have got some. Who has waited longest comes first, and gets it.
func (m *Master) concerned(n News, reset bool) []Target {
	if reset || n.Processes {
		return m.oldestFirst(slices.Clone(m.order))
	}
	targets := slices.Clone(n.Targets)
	if n.Loads || len(n.Targets) > 0 {
		for _, t := range m.order {
			if m.tracks[t].reason.room() && !slices.Contains(n.Targets, t) {
				targets = append(targets, t)
			}
		}
	}
	slices.Sort(targets)
	return m.oldestFirst(targets)
}

// oldestFirst orders targets by how long they have waited; those without demand come last. What a target leaves
// behind in its turn waits anew from then on, or one that is written all the time would always come first. It is
// this master's own clock that counts; what waited already when it came is ordered by the demand's first time.
func (m *Master) oldestFirst(targets []Target) []Target {
	slices.SortStableFunc(targets, func(a, b Target) int {
		x, y := m.tracks[a], m.tracks[b]
		if x.waits.Set != y.waits.Set {
			if x.waits.Set {
				return -1
			}
			return 1
		}
		if c := cmp.Compare(x.waits.At, y.waits.At); c != 0 {
			return c
		}
		return cmp.Compare(m.view.Target(a).Demand.Value.First, m.view.Target(b).Demand.Value.First)
	})
	return targets
}

// waiting notes since when the target waits for its turn.
func (tr *track) waiting(at Moment, tv *TargetView) {
	switch {
	case tv.Demand.Value.Empty() || tv.Execution.Present():
		tr.waits = alarm{}
	case !tr.waits.Set:
		tr.waits = alarmAt(at.Mono)
	}
}
