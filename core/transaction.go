package core

import (
	"time"

	"github.com/sluice-data/sluice/guard"
)

// The transactions of an execution's life (Release is in release.go). Each is a pure function from records to a [Txn]; the
// simulator executes the very same ones. Together they keep one execution per target: ownership is a
// record without a lease that outlives every process, and it changes hands only through Freeze, the
// fences and FinishRecovery.

// Judged is what a reservation was judged by. All of it is compared, so a decision made on an old view
// fails instead of acting.
type Judged struct {
	View   *View
	Target Target
	Worker Seen[WorkerRecord]
}

// Reserve makes e the one execution of its target.
//
// It holds invariant 1 because the owner must be absent, and 6 because everything that the mode was
// derived from is compared: latch, policy, the chosen worker, and the masters, both those that were
// there and any that came since. That shards have no live writer is not compared: one that has come meanwhile
// has its turn the next time.
func Reserve(j Judged, e Execution) Txn {
	assert(e.Phase == Reserved, "reserve %s of %s in phase %s", e.ID, e.Target, e.Phase)
	tv := j.View.Target(e.Target)
	table := tv.Table.Value
	assert(tv.Table.Present() && e.Number == table.LastExecution+1, "reserve number %d of %s after %d", e.Number, e.Target, table.LastExecution)
	table.LastExecution, table.LastID = e.Number, e.ID
	conds := []Cond{
		tv.Table.Unchanged(),
		RangeUnchanged(MasterRange(), j.View.Revision), j.Worker.Unchanged(),
		// The budgets that had to be due: none was charged since. However many there are, it is one
		// comparison; that one has gone, by a success, does no harm.
		RangeUnchanged(FailureRange(e.Target), j.View.Revision),
	}
	if !guard.Out(guard.ReserveIgnoresMode) {
		conds = append(conds, tv.Latch.Unchanged(), tv.Policy.Unchanged())
	}
	if !guard.Out(guard.ReserveNoOwner) {
		conds = append(conds, Absent(OwnerKey(e.Target)))
	}
	for _, m := range j.View.Masters {
		conds = append(conds, m.Unchanged())
	}
	ops := []Op{
		Put(TableKey(e.Target), Encode(table)),
		Put(OwnerKey(e.Target), Encode(e.ID)),
		Put(ExecutionKey(e.Target), Encode(e)),
	}
	if e.demanded() {
		conds = append(conds, unless(guard.ReserveIgnoresDemand, []Cond{tv.Demand.Unchanged()})...)
		ops = append(ops, tv.Demand.Value.Take(e.Shards).without(e.Kind).op(e.Target))
	}
	return Txn{Name: "reserve", If: conds, Then: ops}
}

// demanded reports whether the execution serves the demand. A self-merge serves its own worker and leaves
// the demand as it is, for whoever owns the table next.
func (e Execution) demanded() bool { return e.Kind != KindSelf }

// owned compares that e, exactly as it was seen, is still the execution that owns its target.
func owned(e Execution) []Cond {
	return []Cond{Holds(OwnerKey(e.Target), Encode(e.ID)), Holds(ExecutionKey(e.Target), Encode(e))}
}

// unless drops conditions where a planted bug forgets them.
func unless(mistake guard.Name, conds []Cond) []Cond {
	if guard.Out(mistake) {
		return nil
	}
	return conds
}

// Started is the record that Start writes: e now runs in the process with this instance and nonce, with
// this plan, and nothing of it changes while it runs.
func Started(e Execution, instance Instance, nonce string, base Version, marks Marks, plan []ShardPlan, at WallMillis) Execution {
	e.Phase, e.Instance, e.Nonce = Running, instance, nonce
	e.BaseVersion, e.Plan, e.Started = base, plan, at
	for _, p := range plan { // nothing asks for the others, and there may be thousands
		e.Marks = e.Marks.With(p.Shard, marks.Of(p.Shard))
	}
	return e
}

// Start turns the reserved execution into a running one. The instance and nonce in it keep a second
// process with the same endpoint name from taking it for its own (attack twin-workers).
func Start(reserved, running Execution) Txn {
	assert(reserved.Phase == Reserved && running.Phase == Running, "start %s: %s to %s", reserved.ID, reserved.Phase, running.Phase)
	return Txn{
		Name: "start",
		If:   unless(guard.StartComparesNothing, owned(reserved)),
		Then: []Op{
			Put(ExecutionKey(reserved.Target), Encode(running)),
			Put(AdmittedKey(reserved.Target), Encode(Watermarks{Execution: reserved.ID})),
		},
	}
}

// Admit lets one commit of one version of one resource proceed.
//
// It holds invariants 1 and 3 because it compares the whole execution record, which is Running, started
// by this process and immutable until it is frozen; and invariant 2 because Freeze rewrites that record,
// so that every Admit not applied by then fails. An Admit whose answer is lost may be asked again:
// raising a watermark twice is raising it once.
func Admit(e Execution, w Watermarks, r ResourceID, v Version) Txn {
	assert(e.Phase == Running, "admit %s v%d of %s in phase %s", r, v, e.Target, e.Phase)
	assert(w.Execution == e.ID, "admit for %s on the watermarks of %s", e.ID, w.Execution)
	conds := append(owned(e), Holds(AdmittedKey(e.Target), Encode(w)))
	raised := w.Raise(r, v)
	if guard.Out(guard.WatermarkNotRaised) {
		raised = w
	}
	if guard.Out(guard.AdmitRunning) {
		conds = nil
	}
	return Txn{Name: "admit", If: conds, Then: []Op{Put(AdmittedKey(e.Target), Encode(raised))}}
}

// Finish ends a running execution: Finished if every commit of it has a definite result, else Uncertain,
// which only a recovery can end. more says that it has left something for another one.
func Finish(e Execution, p Progress, definite, more bool, end Failure, at WallMillis) (Execution, Txn) {
	assert(e.Phase == Running, "finish %s of %s in phase %s", e.ID, e.Target, e.Phase)
	done := e
	done.Phase, done.More, done.End, done.Ended = Finished, more, &end, at
	if !definite && !guard.Out(guard.UncertainIsNotFinished) {
		done.Phase = Uncertain
	}
	return done, Txn{
		Name: "finish",
		If:   unless(guard.FinishComparesNothing, owned(e)),
		Then: []Op{Put(ExecutionKey(e.Target), Encode(done)), Put(ProgressKey(e.Target), Encode(p))},
	}
}

// Freeze closes admission for an execution that is to be recovered.
//
// It compares the exact record that was judged, phase included, so that an execution that has finished
// meanwhile stays a success (attack stale-freeze); and where it was judged by a lack of progress, the
// exact progress record, so that a step completed at the last moment wins.
func Freeze(e Execution, progress *Seen[Progress], why Failure, by Instance, at WallMillis) (Execution, Txn) {
	assert(e.Phase == Reserved || e.Phase == Running || e.Phase == Uncertain, "freeze %s of %s in phase %s", e.ID, e.Target, e.Phase)
	frozen := e
	frozen.Phase, frozen.Frozen, frozen.By = Recovering, at, by
	if e.Phase != Uncertain { // an uncertain end keeps its own reason
		frozen.End = &why
	}
	conds := owned(e)
	if guard.Out(guard.FreezeComparesRecord) {
		conds = conds[:1] // the owner alone
	}
	if progress != nil && !guard.Out(guard.FreezeComparesProgress) {
		conds = append(conds, progress.Unchanged())
	}
	return frozen, Txn{Name: "freeze", If: conds, Then: []Op{Put(ExecutionKey(e.Target), Encode(frozen))}}
}

// DeletesWait is how long a batch of deletes may be on its way after it was sent.
const DeletesWait = 15 * time.Minute

// FinishRecovery says that no commit admitted by the execution can take effect any more: every admitted
// version is occupied. deletes is the target's record of a batch of deletes on its way; the caller has
// made sure that there is none or that it is older than [DeletesWait].
func FinishRecovery(e Execution, fenced []Fenced, deletes Cond) (Execution, Txn) {
	assert(e.Phase == Recovering, "finish the recovery of %s of %s in phase %s", e.ID, e.Target, e.Phase)
	rec := e
	rec.Phase, rec.Fenced = Recovered, fenced
	return rec, Txn{
		Name: "finish-recovery",
		If:   append(owned(e), deletes),
		Then: []Op{Put(ExecutionKey(e.Target), Encode(rec))},
	}
}
