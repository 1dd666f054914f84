package core

// Mode is the effective mode of a target by what all live masters, its policy and its latch say; no single
// worker is judged. See [EffectiveMode].
func (v *View) Mode(t Target) (Mode, Reason) {
	return EffectiveMode(voices(v, t, Seen[WorkerRecord]{}))
}
