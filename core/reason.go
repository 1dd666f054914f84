package core

// Reason says why a target that has pending SSTables does not run right now, or why an operator is refused.
type Reason string

// The reasons. ReasonNone means that nothing is in the way.
const (
	ReasonNone             Reason = ""
	ReasonNotSelected      Reason = "not_selected"
	ReasonNoDemand         Reason = "no_demand"
	ReasonBelowThreshold   Reason = "below_threshold"
	ReasonDirect           Reason = "direct"
	ReasonLatched          Reason = "latched"
	ReasonDraining         Reason = "draining"
	ReasonModeDisagreement Reason = "mode_disagreement"
	ReasonOwnedElsewhere   Reason = "owned_elsewhere"
	ReasonRecovering       Reason = "recovering"
	ReasonBackoff          Reason = "backoff"
	ReasonBadShard         Reason = "bad_shard"
	ReasonNoWorker         Reason = "no_worker"
	ReasonNoSlot           Reason = "no_slot"
	ReasonNoBytes          Reason = "no_bytes"
	ReasonKVDown           Reason = "kv_down"
	ReasonLakeDown         Reason = "lake_down" // this process could not look at the lake
	ReasonLakeUnsafe       Reason = "lake_unsafe"
	ReasonLakeChanged      Reason = "lake_changed"
	ReasonAttention        Reason = "attention"
	ReasonInvalid          Reason = "invalid" // what was asked for makes no sense
)

// room reports whether a target waits for room on a worker.
func (r Reason) room() bool { return r == ReasonNoWorker || r == ReasonNoSlot || r == ReasonNoBytes }
