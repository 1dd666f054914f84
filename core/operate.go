package core

import (
	"fmt"

	"github.com/sluice-data/sluice/guard"
)

// What operators say to a fleet, as transactions: a table's mode, its policy, and which budgets to forget.

// ChangeMode writes a policy document whose mode is another one, and the latch with it. Without a mode the
// document leaves the latch as it stands.
//
// Up it may always go. To come down, by which commits of others become possible, it compares that nobody owns
// the table, whose commits are under way, and that no process has come that could declare against it: those that
// were judged are constant, and one that has gone declares nothing any more (invariant 6).
func ChangeMode(v *View, t Target, doc Policy, by Instance, at WallMillis) Txn {
	tv := v.Target(t)
	txn := Txn{Name: "mode", Then: []Op{writePolicy(t, doc)}}
	if !guard.Out(guard.ModeComparesPolicy) {
		txn.If = append(txn.If, tv.Policy.Unchanged())
	}
	if !guard.Out(guard.ModeComparesLatch) {
		txn.If = append(txn.If, tv.Latch.Unchanged())
	}
	if comesDown(tv, doc) {
		if !guard.Out(guard.ModeComesDownUnowned) {
			txn.If = append(txn.If, Absent(OwnerKey(t)))
		}
		if !guard.Out(guard.ModeComparesDeclarations) {
			txn.If = append(txn.If, RangeUnchanged(MasterRange(), v.Revision), RangeUnchanged(WorkerRange(), v.Revision))
		}
	}
	switch doc.Mode {
	case Direct:
		txn.Then = append(txn.Then, Delete(ModeKey(t)))
	case Owned, Draining:
		txn.Then = append(txn.Then, Put(ModeKey(t), Encode(Latch{doc.Mode, by, at})))
	}
	return txn
}

// ReplacePolicy writes a policy document of the same mode, over the one that was seen.
func ReplacePolicy(seen Seen[Policy], t Target, doc Policy) Txn {
	assert(seen.Value.Mode == doc.Mode, "replace the policy of %s: mode %q by %q", t, seen.Value.Mode, doc.Mode)
	txn := Txn{Name: "policy", Then: []Op{writePolicy(t, doc)}}
	if !guard.Out(guard.PolicyComparesPolicy) {
		txn.If = []Cond{seen.Unchanged()}
	}
	return txn
}

// writePolicy writes a document; one that says nothing is none.
func writePolicy(t Target, doc Policy) Op {
	if text := Encode(doc); text != Encode(Policy{}) {
		return Put(PolicyKey(t), text)
	}
	return Delete(PolicyKey(t))
}

// Forget removes a budget by an operator's word, the one exception to invariant 5. It compares the record that
// was seen, and that no execution is charged to the endpoint, whose failure would begin anew what is forgotten.
func Forget(seen Seen[FailureRecord], running Seen[Execution]) Txn {
	txn := Txn{Name: "forget", Then: []Op{Delete(seen.Key)}}
	if !guard.Out(guard.ForgetComparesBudget) {
		txn.If = append(txn.If, seen.Unchanged())
	}
	if !guard.Out(guard.ForgetComparesExecution) {
		txn.If = append(txn.If, running.Unchanged())
	}
	return txn
}

// wanted is the latch after a document is written.
func wanted(tv *TargetView, doc Policy) Mode {
	if doc.Mode == "" {
		return tv.Latch.peek().mode()
	}
	return doc.Mode
}

// comesDown reports whether a document puts the mode lower than policy or latch have it.
func comesDown(tv *TargetView, doc Policy) bool {
	return rank(wanted(tv, doc)) < max(rank(tv.Latch.peek().mode()), rank(tv.Policy.Value.Mode))
}

// down refuses what stands against a mode that comes down; the zero value if nothing does.
func down(v *View, t Target, doc Policy) ruling {
	tv := v.Target(t)
	if !comesDown(tv, doc) {
		return ruling{}
	}
	if e := tv.Execution.Value; tv.Owner.Present() {
		return refusal(holding(e), "execution %d (%s on %s) owns %s; ask again when it is over (`sluice drain %s` lets no other begin)", e.Number, e.Phase, e.Endpoint, t, t)
	}
	to := wanted(tv, doc)
	against := func(says Mode) bool { return says == Draining || says == Owned && to == Direct }
	for _, m := range v.Masters {
		if says := m.Value.Declares.Says(t); against(says) {
			return declared("master "+m.Value.ID, t, says)
		}
	}
	for _, w := range v.Workers {
		if says := w.Value.Declares.Says(t); against(says) {
			return declared("worker "+string(w.Value.Endpoint), t, says)
		}
	}
	return ruling{}
}

func declared(who string, t Target, says Mode) ruling {
	variable := "MERGE_OWNED_TARGETS"
	if says == Draining {
		variable = "MERGE_DRAIN_TARGETS"
	}
	return refusal(ReasonModeDisagreement, "%s declares %s %s; take it out of %s there, restart it, and ask again", who, t, says, variable)
}

// holding is the reason of a table that an execution owns.
func holding(e Execution) Reason {
	if e.Phase == Recovering || e.Phase == Recovered || e.Phase == Uncertain {
		return ReasonRecovering
	}
	return ReasonOwnedElsewhere
}

func (r ModeRequested) reads(t Target) []Range { return modeReads(t) }

func modeReads(t Target) []Range {
	return []Range{{Key: OwnerKey(t)}, {Key: ExecutionKey(t)}, {Key: ModeKey(t)}, {Key: PolicyKey(t)}, MasterRange(), WorkerRange()}
}

func (r ModeRequested) judge(v *View, t Target, by Instance, at WallMillis) ruling {
	tv := v.Target(t)
	doc := tv.Policy.Value
	doc.Mode = r.Mode
	if rank(r.Mode) < 0 {
		return refusal(ReasonInvalid, "mode is %q; use direct, owned or draining", r.Mode)
	}
	if tv.Policy.Value.Mode == r.Mode && tv.Latch.peek().mode() == r.Mode {
		return ruling{done: true}
	}
	return change(v, t, doc, by, at)
}

// change goes to another mode, unless something is in the way.
func change(v *View, t Target, doc Policy, by Instance, at WallMillis) ruling {
	if r := down(v, t, doc); r.refused != ReasonNone {
		return r
	}
	return ruling{txn: ChangeMode(v, t, doc, by, at)}
}

func (r PolicyRequested) reads(t Target) []Range { return modeReads(t) }

func (r PolicyRequested) judge(v *View, t Target, by Instance, at WallMillis) ruling {
	seen := v.Target(t).Policy
	if err := r.Policy.Validate(); err != nil {
		return refusal(ReasonInvalid, "%v", err)
	}
	switch {
	case Encode(seen.Value) == Encode(r.Policy):
		return ruling{done: true}
	case seen.Value.Mode != r.Policy.Mode:
		return change(v, t, r.Policy, by, at)
	}
	return ruling{txn: ReplacePolicy(seen, t, r.Policy)}
}

func (r ForgetRequested) reads(t Target) []Range {
	return []Range{{Key: ExecutionKey(t)}, {Key: FailureKey(t, r.Endpoint)}}
}

func (r ForgetRequested) judge(v *View, t Target, _ Instance, _ WallMillis) ruling {
	tv := v.Target(t)
	seen, e := tv.Failure(t, r.Endpoint), tv.Execution.Value
	switch {
	case !seen.Present():
		return ruling{done: true}
	case tv.Execution.Present() && e.Charge == r.Endpoint:
		return refusal(holding(e), "execution %d (%s on %s) of %s is charged to %s; ask again when it is over", e.Number, e.Phase, e.Endpoint, t, r.Endpoint)
	}
	return ruling{txn: Forget(seen, tv.Execution), forgets: seen.Mod}
}

func (e AnswerOperator) String() string {
	if e.Refused != ReasonNone {
		return fmt.Sprintf("answer operator: %s: %s", e.Refused, e.Detail)
	}
	return fmt.Sprintf("answer operator: %d changed", e.Changed)
}
