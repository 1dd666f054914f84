package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// The time limits of single calls. A call that doesn't answer is an unknown outcome, which the machine
// resolves by reading.
const (
	kvLimit   = 10 * time.Second
	lakeLimit = 60 * time.Second
	rpcLimit  = 2 * time.Second
)

// World is what both machines act on: the records and the lake.
type World struct {
	KV   kv.KV
	Lake lake.Lake
	// Fenced, if set, is told of every version of a base that a fence or an adoption of ours occupies.
	Fenced func(core.Target, core.Version)
}

// carryOut does the effects that both machines know, beside the loop, and reports whether e is one.
func (w World) carryOut(l *loop, e core.Effect) bool {
	switch e := e.(type) {
	case core.Commit:
		l.async(func(ctx context.Context) { l.tell(w.commit(ctx, e)) })
	case core.Read:
		l.async(func(ctx context.Context) { l.tell(w.read(ctx, e)) })
	case core.Survey:
		l.async(func(ctx context.Context) { l.tell(w.survey(ctx, e)) })
	case core.PutFence:
		l.async(func(ctx context.Context) { l.tell(w.fence(ctx, e)) })
	case core.PutNumber:
		l.async(func(ctx context.Context) { l.tell(w.number(ctx, e)) })
	default:
		return false
	}
	return true
}

func (w World) commit(ctx context.Context, e core.Commit) core.Event {
	ctx, cancel := context.WithTimeout(ctx, kvLimit)
	defer cancel()
	a, err := w.KV.Commit(ctx, e.Txn)
	if err != nil {
		a = kv.Answer{Outcome: core.Unknown}
	}
	return core.Committed{Effect: e.ID, Outcome: a.Outcome, Revision: a.Revision}
}

func (w World) read(ctx context.Context, e core.Read) core.Event {
	ctx, cancel := context.WithTimeout(ctx, kvLimit)
	defer cancel()
	s, err := w.KV.Read(ctx, e.Ranges...)
	return core.ReadDone{Effect: e.ID, OK: err == nil, Revision: s.Revision, Records: s.Records}
}

// survey reads the numbers first: an execution that is numbered after that is newer than the manifests.
func (w World) survey(ctx context.Context, e core.Survey) core.Event {
	ctx, cancel := context.WithTimeout(ctx, lakeLimit)
	defer cancel()
	numbers, err := lake.ListNumbers(ctx, w.Lake, e.Target)
	if err != nil {
		return core.Surveyed{Effect: e.ID, Failure: failure(fmt.Sprintf("list the executions of %s", e.Target), err)}
	}
	t, err := lance.ReadTable(ctx, w.Lake, e.Target)
	if err != nil {
		return core.Surveyed{Effect: e.ID, Numbers: numbers, Failure: failure(fmt.Sprintf("read table %s", e.Target), err)}
	}
	return core.Surveyed{Effect: e.ID, Table: t, Numbers: numbers}
}

func (w World) fence(ctx context.Context, e core.PutFence) core.Event {
	ctx, cancel := context.WithTimeout(ctx, lakeLimit)
	defer cancel()
	landed, err := lance.Fence(ctx, w.Lake, lance.FenceRequest{
		Target: e.Target, Resource: e.Resource, Version: e.Version, TableID: e.TableID, Scheme: e.Scheme,
		Adopt: e.Adopt, Seen: e.Version - 1, Execution: e.Execution, UUID: uuid.NewString(), Now: e.Wall,
	})
	switch {
	case err != nil:
		return core.FenceDone{Effect: e.ID, Failure: failure(fmt.Sprintf("fence %s %s v%d", e.Target, e.Resource, e.Version), err)}
	case landed:
		if w.Fenced != nil && e.Resource == core.Base {
			w.Fenced(e.Target, e.Version)
		}
		return core.FenceDone{Effect: e.ID, Outcome: core.Applied}
	}
	return core.FenceDone{Effect: e.ID, Outcome: core.NotApplied}
}

func (w World) number(ctx context.Context, e core.PutNumber) core.Event {
	ctx, cancel := context.WithTimeout(ctx, lakeLimit)
	defer cancel()
	err := lake.PutNumber(ctx, w.Lake, e.Target, e.Number, e.Execution)
	var taken *lake.TakenError
	switch {
	case errors.As(err, &taken):
		return core.NumberDone{Effect: e.ID, Taken: taken.By}
	case err != nil:
		return core.NumberDone{Effect: e.ID, Failure: failure(fmt.Sprintf("number execution %d of %s", e.Number, e.Target), err)}
	}
	// Older numbers have done their work. One that stays is in nobody's way, so this may fail.
	_ = lake.PruneNumbers(ctx, w.Lake, e.Target, now().Wall)
	return core.NumberDone{Effect: e.ID}
}

// failure is the typed failure inside an error, or a storage failure.
func failure(doing string, err error) core.Failure {
	var f core.Failure
	if errors.As(err, &f) {
		return f
	}
	code := core.CodeStorage
	if errors.Is(err, lake.ErrDenied) {
		code = core.CodeAuth
	}
	return core.Failure{Code: code, Detail: fmt.Sprintf("%s: %v", doing, err)}
}

// follow tells the loop everything that changes in the KV, from a first snapshot on.
func (w World) follow(ctx context.Context, l *loop) {
	// From revision 0 no store remembers all: the first batch is a snapshot.
	for b := range w.KV.Watch(ctx, core.Everything(), 0) {
		l.tell(core.Changed{Revision: b.Revision, Reset: b.Reset, Puts: b.Puts, Deletes: b.Deletes})
	}
	if ctx.Err() == nil {
		l.log.Error("the KV has ended: this process sees no more changes and must be started again", "code", core.CodeKV)
	}
}
