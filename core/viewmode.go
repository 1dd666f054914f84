package core

import "slices"

// Mode is the effective mode of a target by what all live masters, its policy and its latch say; no single
// worker is judged. See [EffectiveMode].
func (v *View) Mode(t Target) (Mode, Reason) {
	return EffectiveMode(voices(v, t, Seen[WorkerRecord]{}))
}

// drains is a live worker that has a target drained; empty if there is none.
func (v *View) drains(t Target) Instance {
	for i := range v.Workers {
		if w := &v.Workers[i].Value; len(w.Declares.Draining) > 0 && w.Declares.Says(t) == Draining {
			return w.Instance
		}
	}
	return ""
}

// ownWorker is the worker's own registration, as others see it.
func ownWorker(v *View, e Endpoint) Seen[WorkerRecord] {
	key := WorkerKey(e)
	for _, s := range v.Workers {
		if s.Key == key {
			return s
		}
	}
	return Seen[WorkerRecord]{Key: key}
}

// voices collects what is said about a target: by every live master, by the one worker that is judged, by policy and
// latch, and by any other worker that has it drained.
func voices(v *View, t Target, worker Seen[WorkerRecord]) Voices {
	out := Voices{Live: make([]Declared, 0, len(v.Masters)+1), Policy: v.Target(t).Policy.peek(), Latch: v.Target(t).Latch.peek()}
	for _, m := range v.Masters {
		out.Live = append(out.Live, Declared{m.Value.Instance, m.Value.Declares.Says(t), slices.Contains(m.Value.Capabilities, OwnedMerge)})
	}
	if worker.Present() {
		out.Live = append(out.Live, Declared{worker.Value.Instance, worker.Value.Declares.Says(t), slices.Contains(worker.Value.Capabilities, OwnedMerge)})
	}
	if drains := v.drains(t); drains != "" {
		out.Live = append(out.Live, Declared{drains, Draining, true})
	}
	return out
}
