package sim

import (
	"slices"

	"github.com/sluice-data/sluice/core"
)

// demandCall is one thing that happens to a table's demand.
type demandCall struct {
	client     string
	call, back int64
	what       demandOp
	// asked is the demand afterwards; taken are the shards that an execution took, served those of them
	// that it need not give back.
	asked, taken, served []core.ShardID
	outcome              core.Outcome
	// seen is the revision of the demand's record that was compared, mod the one that it has then; rev is
	// that of the transaction, 0 where nobody was told.
	seen, mod, rev core.Revision
	text           string // of the record that is put
}

type demandOp uint8

const (
	demandPost demandOp = iota
	demandTake
	demandGive
	demandRead // at the end
)

// demandMoved notes what an applied transaction does to the demand.
func (h *history) demandMoved(t core.Txn, w *world) {
	now := int64(w.now)
	for _, op := range t.Then {
		target, ok := targetOf(op.Key, "execution/")
		if !ok {
			continue
		}
		after := Get[core.Demand](w.kv, core.DemandKey(target)).Shards
		c := demandCall{client: t.Name, call: now, back: now, asked: after, outcome: core.Applied, seen: compared(t, target), mod: w.kv.Get(core.DemandKey(target)).Mod, rev: w.kv.rev}
		switch rel, isRelease := released(t); {
		case rel.Execution.Kind == core.KindSelf || decode[core.Execution](core.Record{Key: op.Key, Value: op.Value}).Kind == core.KindSelf:
			continue // a writer looks for itself
		case t.Name == "reserve":
			c.what, c.taken = demandTake, decode[core.Execution](core.Record{Key: op.Key, Value: op.Value}).Shards
		case isRelease:
			c.what, c.taken = demandGive, rel.Execution.Shards
			for _, s := range rel.Execution.Shards {
				last := planned(rel.Execution, s)
				if tb := w.lake.tables[target]; last == 0 || tb == nil || tb.rewritten || tb.head().Marks.Of(s) >= last || w.checks.aside[target] {
					c.served = append(c.served, s)
				}
			}
		default:
			continue
		}
		h.demand[target] = append(h.demand[target], c)
	}
}

// posts notes a post of demand, as its poster knows it: until it is answered, it may have been applied.
func (h *history) posts(client string, t core.Txn, now core.MonoTime) (target core.Target, i int) {
	if h == nil || t.Name != "post-demand" {
		return "", -1
	}
	target, _ = targetOf(t.Then[0].Key, "demand/")
	c := demandCall{client: client, call: int64(now), back: open, what: demandPost, seen: compared(t, target)}
	if t.Then[0].Op == core.OpPut {
		c.asked = decode[core.Demand](core.Record{Key: t.Then[0].Key, Value: t.Then[0].Value}).Shards
		c.mod, c.text = someRevision, t.Then[0].Value
	}
	h.demand[target] = append(h.demand[target], c)
	return target, len(h.demand[target]) - 1
}

// posted notes the answer to a post, with the revision that it made.
func (h *history) posted(target core.Target, i int, outcome core.Outcome, rev core.Revision, now core.MonoTime) {
	if h == nil || i < 0 {
		return
	}
	c := &h.demand[target][i]
	c.back, c.outcome = int64(now), outcome
	if outcome != core.Applied {
		return
	}
	if c.rev = rev; c.mod == someRevision {
		c.mod = rev
	}
}

// resolve gives unanswered posts the revision at which a watch has shown their very text.
func (h *history) resolve(calls []demandCall) {
	for i, c := range calls {
		if rev := h.texts[c.text]; c.what == demandPost && c.outcome == core.Unknown && c.text != "" && rev != 0 {
			calls[i].rev, calls[i].mod = rev, rev
		}
	}
}

// compared is the revision of the demand's record that a transaction compares.
func compared(t core.Txn, target core.Target) core.Revision {
	for _, c := range t.If {
		if c.Key == core.DemandKey(target) && c.Op == core.CondUnchanged {
			return c.Rev
		}
	}
	return someRevision
}

// last notes what the records say at the end.
func (h *history) last(w *world) {
	for _, t := range sortedKeys(w.lake.tables) {
		e := Get[core.Execution](w.kv, core.ExecutionKey(t))
		h.demand[t] = append(h.demand[t], demandCall{
			client: "reader", call: lastLook, back: lastLook, what: demandRead,
			asked: Get[core.Demand](w.kv, core.DemandKey(t)).Shards, taken: slices.Clone(e.Shards),
		})
		if head := w.lake.tables[t].head(); len(h.table[t]) > 0 {
			h.add(t, tableCall{client: "reader", call: lastLook, back: lastLook, what: opSaw, version: head.Version, by: head.by})
		}
	}
	h.finalRead(w)
}
