package gate

import (
	"context"

	"github.com/sluice-data/sluice/core"
)

// Authority is the worker's machine behind the gate: it knows the executions, and asks the KV.
type Authority interface {
	// Admit decides the commit of an execution and blocks until it is decided or ctx ends. An OK verdict
	// means that the version is admitted: the gate puts it to the lake now, or settles it.
	Admit(ctx context.Context, in core.CommitIntent) core.Verdict
	// Settled ends what an OK verdict of Admit began; it is called exactly once for each. Applied: the
	// version is in the lake with this body. NotApplied: it is not and never will be (a conflict, or not
	// forwarded). Unknown: it may land later. landed is true for Applied only.
	Settled(in core.CommitIntent, outcome core.Outcome, landed bool)
	// Worked reports completed work of an execution: a write that landed, or bytes read for the first
	// time. It must not block.
	Worked(e core.ExecutionID, work Work)
	// Mode is who may merge a table, for the commits of clients. It needs no KV.
	Mode(t core.Target) core.Mode
	// Watched says whether a table has an unreleased execution, and which base version that one saw at
	// Start.
	Watched(t core.Target) (from core.Version, running bool)
}

// Work is one piece of completed work.
type Work struct {
	// Written says that it is a write; otherwise it is a first-time read.
	Written bool
	Key     string
	Bytes   core.Bytes
}
