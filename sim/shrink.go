package sim

import "slices"

// Shrink deletes choices from a failing trace for as long as it fails in the same way, and returns what is
// left: usually the few things that had to go wrong together. tried is told of every try; it may end the
// search by returning false.
func Shrink(t Trace, tried func(left int) bool) Trace {
	fails := func(choices []Choice) (Trace, bool) {
		next := Trace{t.Head, choices}
		res := Replay(next, Options{})
		if !alike(res, t.Head) {
			return t, false
		}
		return TraceOf(res, t.Commit), true
	}
	return shrink(t, fails, tried)
}

// shrink deletes runs of choices, long ones first, while what is left still fails.
func shrink(t Trace, fails func([]Choice) (Trace, bool), tried func(left int) bool) Trace {
	best := t
	for size := max(1, len(best.Choices)/2); ; size = max(1, size/2) {
		removed := false
		for from := 0; from < len(best.Choices); {
			without := slices.Delete(slices.Clone(best.Choices), from, min(from+size, len(best.Choices)))
			if !tried(len(best.Choices)) {
				return best
			}
			if next, ok := fails(without); ok {
				best, removed = next, true
				continue // what follows has moved here
			}
			from += size
		}
		if size == 1 && !removed {
			return best
		}
	}
}

// alike reports whether a run fails as another did: by the same verdict, and for a broken invariant by the
// same one.
func alike(r Result, h Head) bool {
	n := len("invariant 4")
	if r.Verdict != Safety || h.Verdict != Safety {
		return r.Verdict == h.Verdict
	}
	return r.Problem[:min(n, len(r.Problem))] == h.Problem[:min(n, len(h.Problem))]
}
