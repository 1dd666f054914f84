package core

import "fmt"

// Effect is something that a machine wants done. Effects are values: ordered, printable, comparable by
// their text. A step's effects may be carried out at the same time; what must come after another is
// asked for only when that one has been answered (persist before send).
type Effect interface {
	effect()
	String() string
}

type (
	// Commit applies a transaction to the KV; answered by [Committed].
	Commit struct {
		ID  EffectID
		Txn Txn
	}

	// Read reads ranges of the KV at one revision, linearizably; answered by [ReadDone].
	Read struct {
		ID     EffectID
		Ranges []Range
	}

	// Survey reads a table's manifests, and the numbers of its executions that the lake knows;
	// answered by [Surveyed].
	Survey struct {
		ID     EffectID
		Target Target
		Deep   bool // also the versions of the base that still exist
	}

	// PutFence occupies one version of one resource with a commit that changes no row; answered by
	// [FenceDone]. It is published only if Version is the latest + 1, the table is still the one with
	// this id and scheme, and its writer flags are known.
	PutFence struct {
		ID       EffectID
		Target   Target
		Resource ResourceID
		Version  Version
		TableID  TableID // the id that the table must have; with Adopt, the one that it gets
		Scheme   NamingScheme
		// Execution is the one being fenced.
		Execution ExecutionID
		// Adopt writes TableID into the table, over any id that is there.
		Adopt bool
		Wall  WallMillis
	}

	// PutDrain publishes the next manifest of a shard without these SSTables, with nothing else changed; answered by
	// [Drained]. It is published only if Version is the shard's latest + 1 and the table is still the one with this id.
	PutDrain struct {
		ID        EffectID
		Target    Target
		Shard     ShardID
		Version   Version
		TableID   TableID
		Execution ExecutionID
		SSTables  []Reclaimed
	}

	// DeleteFiles deletes directories of the table; answered by [Deleted]. It is sent at once, and what has not been
	// answered within a few minutes is given up: see [DeletesWait].
	DeleteFiles struct {
		ID      EffectID
		Target  Target
		TableID TableID
		Names   []string // under the table's directory
	}

	// PutNumber writes the execution's name under its number into the lake, if absent; answered by
	// [NumberDone].
	PutNumber struct {
		ID        EffectID
		Target    Target
		Number    uint64
		Execution ExecutionID
	}

	// SendStart asks a worker to run a reserved execution; answered by [Replied], like the next two.
	SendStart struct {
		ID        EffectID
		Address   string
		Execution Execution
	}

	// SendCancel asks a worker to end an execution.
	SendCancel struct {
		ID        EffectID
		Address   string
		Target    Target
		Execution ExecutionID
		Why       Failure
	}

	// SendProbe asks a worker about an execution.
	SendProbe struct {
		ID        EffectID
		Address   string
		Target    Target
		Execution ExecutionID
	}

	// StartEngine grants the execution its credentials and starts an engine on its plan, or on the table as a whole if
	// its kind is one of maintenance. Its end is
	// told by [EngineEnded], always.
	StartEngine struct {
		Execution Execution
		// SSTables are those of the plan, shard by shard, in order of generation.
		Inputs []ShardInput
	}

	// LetGo lets an engine that has told its plan begin to commit.
	LetGo struct {
		Target    Target
		Execution ExecutionID
	}

	// StopEngine revokes the execution's credentials and ends its engine, if there is one.
	StopEngine struct {
		Target    Target
		Execution ExecutionID
	}

	// AnswerCommit answers a [CommitRequested]: an OK verdict puts it to the lake now.
	AnswerCommit struct {
		Request RequestID
		Verdict Verdict
	}

	// AnswerStart answers a [StartRequested]; a reason refuses it.
	AnswerStart struct {
		Request RequestID
		Refused Reason
	}

	// AnswerStatus answers a [StatusRequested] or a [CancelRequested].
	AnswerStatus struct {
		Request RequestID
		Status  Status
	}

	// AnswerMerge answers a [MergeRequested] or an [AdoptRequested].
	AnswerMerge struct {
		Request RequestID
		// Pending counts the SSTables above the marks.
		Pending int
		// After is below the number of the first execution that serves the request: one that runs
		// already may be it.
		After   uint64
		Refused Reason
		Failure Failure
	}

	// AnswerOperator answers a [ModeRequested], a [PolicyRequested] or a [ForgetRequested]. Without a refusal it
	// is as was asked, whoever made it so. A refusal says in one line what is in the way, and what to do.
	AnswerOperator struct {
		Request RequestID
		Changed int // targets on which this very request changed something
		Refused Reason
		Detail  string
	}

	// Note is one decision, for the log: one line each.
	Note struct {
		Target    Target
		Execution ExecutionID
		Code      Code
		Text      string
	}
)

// ShardInput is what a pass reads of one shard.
type ShardInput struct {
	Shard    ShardID
	Mark     Generation
	SSTables []SSTable
}

func (Commit) effect()         {}
func (Read) effect()           {}
func (Survey) effect()         {}
func (PutFence) effect()       {}
func (PutNumber) effect()      {}
func (PutDrain) effect()       {}
func (DeleteFiles) effect()    {}
func (SendStart) effect()      {}
func (SendCancel) effect()     {}
func (SendProbe) effect()      {}
func (StartEngine) effect()    {}
func (LetGo) effect()          {}
func (StopEngine) effect()     {}
func (AnswerCommit) effect()   {}
func (AnswerStart) effect()    {}
func (AnswerStatus) effect()   {}
func (AnswerMerge) effect()    {}
func (AnswerOperator) effect() {}
func (Note) effect()           {}

func (e Commit) String() string { return "commit " + e.Txn.Name }
func (e Read) String() string   { return fmt.Sprintf("read %d ranges", len(e.Ranges)) }
func (e Survey) String() string {
	if e.Deep {
		return fmt.Sprintf("survey %s and its versions", e.Target)
	}
	return fmt.Sprintf("survey %s", e.Target)
}
func (e PutFence) String() string {
	verb := "fence"
	if e.Adopt {
		verb = "adopt"
	}
	return fmt.Sprintf("%s %s %s v%d", verb, e.Target, e.Resource, e.Version)
}
func (e PutNumber) String() string {
	return fmt.Sprintf("put number %d of %s", e.Number, e.Target)
}
func (e PutDrain) String() string {
	return fmt.Sprintf("drain shard %s of %s at v%d of %d SSTables", e.Shard, e.Target, e.Version, len(e.SSTables))
}
func (e DeleteFiles) String() string {
	return fmt.Sprintf("delete %d directories of %s", len(e.Names), e.Target)
}
func (e SendStart) String() string { return fmt.Sprintf("send start of %s", e.Execution.Target) }
func (e SendCancel) String() string {
	return fmt.Sprintf("send cancel of %s: %s", e.Target, e.Why.Code)
}
func (e SendProbe) String() string { return fmt.Sprintf("send probe of %s", e.Target) }
func (e StartEngine) String() string {
	return fmt.Sprintf("start engine of %s", e.Execution.Target)
}
func (e LetGo) String() string      { return fmt.Sprintf("let engine of %s go on", e.Target) }
func (e StopEngine) String() string { return fmt.Sprintf("stop engine of %s", e.Target) }
func (e AnswerCommit) String() string {
	if e.Verdict.OK() {
		return "answer commit: go on"
	}
	return fmt.Sprintf("answer commit: %d %s: %s", e.Verdict.Status, e.Verdict.Rule, e.Verdict.Detail)
}
func (e AnswerStart) String() string {
	if e.Refused != ReasonNone {
		return "answer start: refused: " + string(e.Refused)
	}
	return "answer start: taken"
}
func (e AnswerStatus) String() string {
	if !e.Status.Known {
		return "answer status: unknown"
	}
	return "answer status: " + string(e.Status.Phase)
}
func (e AnswerMerge) String() string {
	switch {
	case e.Refused != ReasonNone:
		return "answer merge: refused: " + string(e.Refused)
	case !e.Failure.OK():
		return "answer merge: " + e.Failure.Error()
	}
	return fmt.Sprintf("answer merge: %d pending", e.Pending)
}
func (e Note) String() string {
	if e.Code != CodeOK {
		return fmt.Sprintf("%s: %s: %s", e.Target, e.Code, e.Text)
	}
	return fmt.Sprintf("%s: %s", e.Target, e.Text)
}
