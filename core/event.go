package core

// Moment is when a step happens and what chance it may use. All of it comes from outside, so that the
// same moments and events always give the same effects.
type Moment struct {
	Mono MonoTime
	Wall WallMillis
	// Fresh is a random name that nobody has used before; a step uses it at most once.
	Fresh string
}

// Event is something that a machine is told. The kinds are closed: one struct each.
type Event interface{ event() }

// EffectID names an effect; its answer carries it. 0 is no effect.
type EffectID uint64

// RequestID names a request from outside; the answer to it carries it.
type RequestID uint64

type (
	// Tick says that time has passed. One that comes late, early or twice changes nothing.
	Tick struct{}

	// Changed are changes of the KV's records, in order of revision. Reset says that Puts is
	// everything, replacing what was known.
	Changed struct {
		Revision Revision
		Reset    bool
		Puts     []Record
		Deletes  []string
	}

	// Committed answers a [Commit].
	Committed struct {
		Effect   EffectID
		Outcome  Outcome
		Revision Revision
	}

	// ReadDone answers a [Read]; OK is false if the KV did not answer.
	ReadDone struct {
		Effect   EffectID
		OK       bool
		Revision Revision
		Records  []Record
	}

	// Surveyed answers a [Survey].
	Surveyed struct {
		Effect  EffectID
		Table   Table
		Numbers []Number // executions that the lake knows of, by number
		Failure Failure  // why the table could not be read
	}

	// FenceDone answers a [PutFence]. Applied: the version is ours. NotApplied: it was occupied, by
	// whomever. A failure other than that is in Failure and leaves the outcome unknown.
	FenceDone struct {
		Effect  EffectID
		Outcome Outcome
		Failure Failure
	}

	// NumberDone answers a [PutNumber]. Taken is the execution that holds the name already.
	NumberDone struct {
		Effect  EffectID
		Taken   ExecutionID
		Failure Failure
	}

	// Drained answers a [PutDrain]. Applied: the version is ours. NotApplied: it was occupied.
	Drained struct {
		Effect  EffectID
		Outcome Outcome
		Failure Failure
	}

	// Deleted answers a [DeleteFiles]. A failure says that some of it may not be gone, or may go later.
	Deleted struct {
		Effect  EffectID
		Failure Failure
	}

	// Replied answers an RPC to a worker: a [SendStart], [SendCancel] or [SendProbe]. The answer to a
	// start carries no status.
	Replied struct {
		Effect EffectID
		// OK is false if no answer came: the request may have arrived or not.
		OK     bool
		Status Status
		// Refused says why a start was not taken.
		Refused Reason
	}

	// StartRequested asks a worker to run an execution that was reserved for it.
	StartRequested struct {
		Request   RequestID
		Execution Execution
	}

	// CancelRequested asks a worker to end an execution.
	CancelRequested struct {
		Request   RequestID
		Target    Target
		Execution ExecutionID
		Why       Failure
	}

	// StatusRequested asks a worker what it knows of an execution.
	StatusRequested struct {
		Request   RequestID
		Target    Target
		Execution ExecutionID
	}

	// CommitRequested is a base manifest that an execution's engine wants to put. The gate holds it
	// until it is answered by an [AnswerCommit].
	CommitRequested struct {
		Request RequestID
		Intent  CommitIntent
	}

	// CommitSettled is what became of a commit that was allowed. Applied: our bytes are that version.
	// NotApplied: somebody else's are, or it was never forwarded. Unknown: nobody could tell.
	CommitSettled struct {
		Request RequestID
		Target  Target
		Version Version
		Outcome Outcome
	}

	// CommitDropped says that the sender of a held commit has gone.
	CommitDropped struct {
		Request RequestID
		Target  Target
	}

	// Worked is completed storage work of an execution that the gate has seen: writes, and first-time
	// reads of new ranges.
	Worked struct {
		Target    Target
		Execution ExecutionID
		Writes    int64
		Bytes     Bytes
	}

	// EngineReported is completed work that the engine reports.
	EngineReported struct {
		Target    Target
		Execution ExecutionID
		Counters  Counters
	}

	// EnginePlanned says how the engine is going to commit, before each try to publish its pass. It waits
	// for a [LetGo].
	EnginePlanned struct {
		Target    Target
		Execution ExecutionID
		Attempt   Attempt
	}

	// EngineEnded says that the engine's process is gone; an OK failure means that it reported success.
	EngineEnded struct {
		Target    Target
		Execution ExecutionID
		Failure   Failure
	}

	// MergeRequested asks a master to have a target merged, or maintained.
	MergeRequested struct {
		Request RequestID
		Target  Target
		Kind    Kind // of maintenance; empty asks for a merge
		// Now: a person asks, who has perhaps mended what was wrong. The next attempt does not wait for
		// its budget to be due. The budget stays as it is (invariant 5): the attempt after that waits.
		Now bool
	}

	// AdoptRequested asks a master to adopt a target anew, whatever stands at its path. With Gone a person says
	// that the table is gone for good: whoever owns it is recovered without it, and nothing is adopted.
	AdoptRequested struct {
		Request RequestID
		Target  Target
		Gone    bool
	}

	// ModeRequested is an operator's word on who may merge a target. What else its policy says stays.
	ModeRequested struct {
		Request RequestID
		Target  Target
		Mode    Mode
	}

	// PolicyRequested replaces the policy of a target; one that says nothing removes it. If it has another mode,
	// that obeys the rules of a [ModeRequested].
	PolicyRequested struct {
		Request RequestID
		Target  Target
		Policy  Policy
	}

	// ForgetRequested is an operator's word that the failures of an endpoint count no more: those on one target,
	// or without one on all. See [Forget].
	ForgetRequested struct {
		Request  RequestID
		Target   Target
		Endpoint Endpoint
	}

	// Flushed tells a worker that a shard of a table that it writes has a new SSTable.
	Flushed struct{ Target Target }

	// DrainRequested tells a worker to take no new executions.
	DrainRequested struct{}
)

func (Tick) event()            {}
func (Changed) event()         {}
func (Committed) event()       {}
func (ReadDone) event()        {}
func (Surveyed) event()        {}
func (FenceDone) event()       {}
func (NumberDone) event()      {}
func (Drained) event()         {}
func (Deleted) event()         {}
func (Replied) event()         {}
func (StartRequested) event()  {}
func (CancelRequested) event() {}
func (StatusRequested) event() {}
func (CommitRequested) event() {}
func (CommitSettled) event()   {}
func (CommitDropped) event()   {}
func (Worked) event()          {}
func (EngineReported) event()  {}
func (EnginePlanned) event()   {}
func (EngineEnded) event()     {}
func (MergeRequested) event()  {}
func (AdoptRequested) event()  {}
func (ModeRequested) event()   {}
func (PolicyRequested) event() {}
func (ForgetRequested) event() {}
func (Flushed) event()         {}
func (DrainRequested) event()  {}

// Number is one entry of a target's _sluice/x/ folder: the name of execution number N.
type Number struct {
	N         uint64
	Execution ExecutionID
}

// Status is what a worker says of an execution.
type Status struct {
	// Known is false for an execution that this process did not start.
	Known    bool
	Phase    Phase
	Counters Counters
}
