package sim

import (
	"slices"

	"github.com/sluice-data/sluice/core"
)

// demandCall is one thing that happens to a table's demand.
type demandCall struct {
	what demandOp
	// asked is the demand afterwards; taken are the shards that an execution took, served those of them that it
	// need not give back.
	asked, taken, served []core.ShardID
	// seen is the revision of the demand's record that was compared, mod the one that it has afterwards: of a post
	// that leaves a record it is not known before it is answered.
	seen, mod core.Revision
}

type demandOp uint8

const (
	demandPost demandOp = iota
	demandTake
	demandGive
)

func (o demandOp) String() string { return [...]string{"post", "take", "give"}[o] }

// wanted is the state of a table's demand: what is asked for, and what an execution has taken.
type wanted struct {
	asked, taken []core.ShardID
	mod          core.Revision // of the demand's record; someRevision after a write that nobody was told of
	rev          core.Revision // of the last write that is known
}

const someRevision core.Revision = -1

// post notes a post of demand, as a part of the transaction that makes it; nil if it makes none.
func (h *history) post(client string, t core.Txn) *operation {
	if t.Name != "post-demand" {
		return nil
	}
	put := t.Then[0]
	target, _ := targetOf(put.Key, "demand/")
	c := demandCall{what: demandPost, seen: compared(t, target)}
	if put.Op == core.OpPut {
		c.asked, c.mod = wants(decode[core.Demand](core.Record{Key: put.Key, Value: put.Value})), someRevision
	}
	return h.call(h.demand[target], client, c)
}

// demandMoved notes what an applied transaction does to the demand.
func (h *history) demandMoved(t core.Txn, post *operation) {
	applied := core.Committed{Outcome: core.Applied, Revision: h.w.kv.rev}
	if post != nil {
		h.effect(post, applied)
		return
	}
	for _, op := range t.Then {
		target, ok := targetOf(op.Key, "execution/")
		if !ok || !slices.ContainsFunc(t.Then, func(op core.Op) bool { return op.Key == core.DemandKey(target) }) {
			continue // a self-merge asks for nothing
		}
		rec := h.w.kv.Get(core.DemandKey(target))
		c := demandCall{asked: wants(decode[core.Demand](rec)), seen: compared(t, target), mod: rec.Mod}
		switch rel, isRelease := released(t); {
		case t.Name == "reserve":
			c.what, c.taken = demandTake, takes(decode[core.Execution](core.Record{Key: op.Key, Value: op.Value}))
		case isRelease:
			c.what, c.taken = demandGive, takes(rel.Execution)
			if rel.Merged && rel.Execution.Kind.Maintains() {
				c.served = c.taken
			}
			for _, s := range rel.Execution.Shards {
				last := planned(rel.Execution, s)
				if tb := h.w.lake.tables[target]; last == 0 || tb == nil || tb.rewritten || tb.head().Marks.Of(s) >= last || h.w.checks.aside[target] {
					c.served = append(c.served, s)
				}
			}
		default:
			continue
		}
		h.demand[target].taken = c.what == demandTake
		h.once(h.demand[target], t.Name, c, applied)
	}
}

// wants is what a demand asks for. Maintenance has no shards: its kind stands for them.
func wants(d core.Demand) []core.ShardID {
	out := slices.Clone(d.Shards)
	for _, c := range d.Kinds {
		out = append(out, chore(c.Kind))
	}
	return out
}

// takes is what an execution takes out of the demand.
func takes(e core.Execution) []core.ShardID {
	if e.Kind.Maintains() {
		return []core.ShardID{chore(e.Kind)}
	}
	return e.Shards
}

func chore(k core.Kind) core.ShardID { return core.ShardID("~" + string(k)) }

// compared is the revision of the demand's record that a transaction compares.
func compared(t core.Txn, target core.Target) core.Revision {
	for _, c := range t.If {
		if c.Key == core.DemandKey(target) && c.Op == core.CondUnchanged {
			return c.Rev
		}
	}
	return someRevision
}

// follows reports whether a write that compared this revision may come next.
func (s wanted) follows(seen core.Revision) bool {
	return s.mod == seen || s.mod == someRevision && seen > s.rev
}

// demandStep: what was asked for is there, or with an execution; an execution gives back what it has not served.
func demandStep(state, input, output any) (bool, any) {
	s, c := state.(wanted), input.(demandCall)
	ans, known := output.(core.Committed)
	if known && ans.Outcome == core.NotApplied {
		return true, s
	}
	next := wanted{c.asked, s.taken, c.mod, max(s.rev, ans.Revision, c.seen)}
	if known && c.mod == someRevision {
		next.mod = ans.Revision
	}
	if !s.follows(c.seen) || known && ans.Revision <= s.rev {
		return false, s
	}
	switch c.what {
	case demandTake:
		rest := slices.DeleteFunc(slices.Clone(s.asked), func(x core.ShardID) bool { return slices.Contains(c.taken, x) })
		next.taken = c.taken
		return slices.Equal(rest, c.asked), next
	case demandGive:
		for _, x := range slices.Concat(s.taken, s.asked) {
			served := slices.Contains(c.served, x) && slices.Contains(s.taken, x)
			if !served && !slices.Contains(c.asked, x) {
				return false, s
			}
		}
		next.taken = nil
		return slices.Equal(s.taken, c.taken), next
	}
	return true, next
}

// sameDemand compares what a reader sees.
func sameDemand(a, b any) bool {
	x, y := a.(wanted), b.(wanted)
	return (x.mod == y.mod || x.mod == someRevision || y.mod == someRevision) && slices.Equal(x.asked, y.asked) && slices.Equal(x.taken, y.taken)
}
