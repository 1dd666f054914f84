package sim

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-data/sluice/core"
)

// The models that the histories are held to. Each says, for one state and one call with its answer, which
// states may come after it. A call that was never answered may have taken effect at any moment since, or
// never: the one who asked doesn't know, and neither does the model.

// judgement is what a model says of a history.
type judgement struct {
	model  string
	result porcupine.CheckResult
}

// judge holds all histories to their models, each within the given time.
func (h *history) judge(budget time.Duration) []judgement {
	var all []judgement
	ops := make([]porcupine.Operation, 0, len(h.kv))
	for _, c := range h.kv {
		if _, read := c.effect.(core.Read); read && c.answer == nil {
			continue // a read without an answer says nothing
		}
		ops = append(ops, porcupine.Operation{ClientId: 0, Input: c, Output: nil, Call: c.call, Return: max(c.back, c.call)})
	}
	all = append(all, h.judgeKV(ops, budget))
	for _, t := range sortedKeys(h.table) {
		ops = ops[:0:0]
		for _, c := range h.table[t] {
			ops = append(ops, porcupine.Operation{Input: c, Call: c.call, Return: max(c.back, c.call)})
		}
		all = append(all, judgement{"the versions of " + string(t), check(tableModel(), ops, budget)})
	}
	for _, t := range sortedKeys(h.demand) {
		ops = ops[:0:0]
		h.resolve(h.demand[t])
		for _, c := range h.demand[t] {
			ops = append(ops, porcupine.Operation{Input: c, Call: c.call, Return: max(c.back, c.call)})
		}
		all = append(all, judgement{"the demand for " + string(t), check(demandModel(), ops, budget)})
	}
	return all
}

func check(m porcupine.Model, ops []porcupine.Operation, budget time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(m, ops, budget)
}

// kvState is a KV with whether the last read has been passed.
type kvState struct {
	kv  *KV
	end bool
}

// kvModel: every answer is that of one KV that does one thing at a time. A request without an answer is
// either applied at some moment, or comes after everything else, which is the same as never.
//
// Revisions and watches make it cheap: a revision that somebody was told is his own can't be that of an
// unanswered request, and one that a watch has told of is known by what it changed.
func (h *history) kvModel() porcupine.Model {
	claimed, last := map[core.Revision]bool{}, core.Revision(0)
	for _, c := range h.kv {
		switch a := c.answer.(type) {
		case core.Committed:
			if a.Outcome == core.Applied && changes(c.effect) {
				claimed[a.Revision] = true
			}
		case core.ReadDone:
			last = max(last, a.Revision)
		}
	}
	return porcupine.Model{
		Init: func() any { return kvState{kv: NewKV()} },
		Step: func(state, input, _ any) (bool, any) {
			s, c := state.(kvState), input.(kvCall)
			switch e := c.effect.(type) {
			case core.Read:
				ans, ok := c.answer.(core.ReadDone)
				if !ok {
					return true, s
				}
				end := s.end || c.final
				return ans.Revision == s.kv.rev && slices.Equal(ans.Records, s.kv.Read(e.Ranges...)), kvState{s.kv, end}
			case core.Commit:
				ans, ok := c.answer.(core.Committed)
				if s.end {
					return !ok, s // an unanswered one that was never applied
				}
				if ok && ans.Outcome == core.NotApplied {
					return ans.Revision == s.kv.rev && (leased(e.Txn) || !s.kv.would(e.Txn)), s
				}
				if ok && ans.Revision != s.kv.rev+1 && ans.Revision != s.kv.rev {
					return false, s
				}
				if !ok && (claimed[s.kv.rev+1] || s.kv.rev >= last) || !s.kv.would(e.Txn) {
					return false, s
				}
				if seen, any := h.watched[s.kv.rev+1]; any && !seen.puttingAs(e.Txn) {
					return false, s
				}
				next := s.kv.copied()
				if !next.Apply(e.Txn, c.holder) || ok && next.rev != ans.Revision {
					return false, s
				}
				return true, kvState{kv: next}
			}
			panic("unknown call")
		},
		Equal: func(a, b any) bool {
			x, y := a.(kvState), b.(kvState)
			return x.end == y.end && x.kv.rev == y.kv.rev && x.kv.logged == y.kv.logged && slices.Equal(x.kv.records, y.kv.records)
		},
	}
}

// puttingAs reports whether the change could be that of a transaction, by what was put.
func (ch kvChange) puttingAs(t core.Txn) bool {
	i := 0
	for _, op := range t.Then {
		if op.Op != core.OpPut {
			continue
		}
		if i >= len(ch.puts) || ch.puts[i].Key != op.Key || ch.puts[i].Value != op.Value {
			return false
		}
		i++
	}
	return i == len(ch.puts)
}

// changes reports whether a transaction writes something whatever it finds.
func changes(e core.Effect) bool {
	c, ok := e.(core.Commit)
	return ok && slices.ContainsFunc(c.Txn.Then, func(op core.Op) bool { return op.Op == core.OpPut })
}

// would reports whether the conditions of a transaction hold.
func (k *KV) would(t core.Txn) bool {
	return !slices.ContainsFunc(t.If, func(c core.Cond) bool { return !k.holds(c) })
}

// copied is a copy without the past.
func (k *KV) copied() *KV {
	return &KV{rev: k.rev, records: slices.Clone(k.records), logged: k.logged}
}

// chain is the state of a table's version chain.
type chain struct {
	latest core.Version
	by     string
	over   []core.ExecutionID
	// puts are the versions that executions have put: one that sends a manifest twice, because nobody could tell
	// what became of the first, is told that it landed whichever did.
	puts []landing
	end  bool
}

// keptPuts bounds them: no manifest is sent again after so many others.
const keptPuts = 32

type landing struct {
	version core.Version
	by      string
}

// tableModel: a version is put once, each after the one before it; a commit of an execution that has been
// recovered is illegal; and whoever looks sees the newest.
func tableModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return chain{latest: 1, by: "its maker"} },
		Step: func(state, input, _ any) (bool, any) {
			s, c := state.(chain), input.(tableCall)
			landed := chain{c.version, c.by, s.over, s.puts, s.end}
			switch c.what {
			case opOver:
				s.over = append(slices.Clone(s.over), c.execution)
				return true, s
			case opReplace:
				return true, landed
			case opSaw:
				s.end = s.end || c.call == lastLook
				return s.latest == c.version && s.by == c.by, s
			case opOther:
				return c.version == s.latest+1, landed
			}
			switch {
			case c.outcome == core.NotApplied:
				return s.latest >= c.version, s
			case c.outcome == core.Applied && slices.Contains(s.puts, landing{c.version, c.by}):
				return true, s
			case s.end:
				return c.outcome == core.Unknown, s
			}
			landed.puts = append(slices.Clone(s.puts[max(0, len(s.puts)-keptPuts):]), landing{c.version, c.by})
			return c.version == s.latest+1 && !slices.Contains(s.over, c.execution), landed
		},
		Equal: func(a, b any) bool {
			x, y := a.(chain), b.(chain)
			return x.latest == y.latest && x.by == y.by && x.end == y.end && slices.Equal(x.over, y.over) && slices.Equal(x.puts, y.puts)
		},
	}
}
