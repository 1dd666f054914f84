package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-data/sluice/core"
)

// tableCall is one access to a table's chain of versions.
type tableCall struct {
	what      tableOp
	version   core.Version
	by        string
	execution core.ExecutionID
}

type tableOp uint8

const (
	opPut     tableOp = iota // put-if-absent of an execution's commit
	opSaw                    // a look at the head
	opOther                  // somebody else's commit that landed: fences, clients
	opOver                   // the execution is recovered: nothing of it may land from here on
	opReplace                // another table, or an older copy, stands there now
)

func (o tableOp) String() string {
	return [...]string{"put", "look", "commit", "recovered", "replaced"}[o]
}

// chain is the state of a table's version chain.
type chain struct {
	latest core.Version
	by     string
	over   []core.ExecutionID // never written in place
}

// addTable starts the histories of a table's versions and of the demand for it.
func (h *history) addTable(t core.Target) {
	var o, d *object
	o = h.object("the versions of "+string(t), model{tableStep, sameChain}, func() any {
		table, over := h.w.lake.tables[t], []core.ExecutionID(nil)
		if table == nil {
			return nil
		}
		head := table.head()
		if o != nil {
			over = slices.Clip(o.over)
		}
		return chain{head.Version, head.by, over}
	})
	d = h.object("the demand for "+string(t), model{demandStep, sameDemand}, func() any {
		rec := h.w.kv.Get(core.DemandKey(t))
		s := wanted{asked: wants(decode[core.Demand](rec)), mod: rec.Mod, rev: h.w.kv.rev}
		if d != nil && d.taken {
			s.taken = takes(Get[core.Execution](h.w.kv, core.ExecutionKey(t)))
		}
		return s
	})
	o.landed = map[core.Version]*operation{}
	h.tables[t], h.demand[t] = o, d
}

// put notes that a manifest goes to storage.
func (h *history) put(a *attempt) *operation {
	if h == nil {
		return nil
	}
	return h.call(h.tables[a.target], a.by(), tableCall{opPut, a.body.Version, a.by(), a.engine.exec.ID})
}

// stored notes what storage does with a manifest when it gets there.
func (h *history) stored(op *operation, a *attempt, outcome core.Outcome) {
	switch {
	case h == nil:
	case op.told == core.NotApplied: // as it was read back before
		if outcome == core.Applied {
			h.w.checks.broke("the history contradicts itself: v%d of %s was told not to have landed, and lands later", a.body.Version, a.target)
		}
	case h.w.lake.tables[a.target] != a.table:
		h.lost(op) // the table that it was meant for has gone
	default:
		if outcome == core.Applied {
			op.object.landed[a.body.Version] = op
			delete(op.object.landed, a.body.Version-keptLanded)
		}
		h.effect(op, outcome)
	}
}

// keptLanded is how many versions back a put may still be told of: a gate reads no older ones back.
const keptLanded = 64

// heard notes what the gate found out about a manifest. That it did not land may be known before storage has
// thrown it away: then somebody else's version stands there now. And a put that is refused because the very same
// commit stands there already is a second sending of that one, which is what the answer speaks of.
func (h *history) heard(op *operation, said core.Outcome) {
	if h == nil {
		return
	}
	if said == core.NotApplied && op.output == nil {
		h.effect(op, said)
	}
	first := op.object.landed[op.input.(tableCall).version]
	if said == core.Applied && op.output != core.Applied && first != nil && first.input == op.input {
		if first.told == nil {
			h.answered(first, said)
		}
		return
	}
	h.answered(op, said)
}

// saw notes a look that showed the head.
func (h *history) saw(p *process, t core.Target, head version) {
	h.onChain(t, p.id, tableCall{what: opSaw, version: head.Version, by: head.by})
}

// moved notes somebody else's commit.
func (h *history) moved(t core.Target, by string, v core.Version) {
	h.onChain(t, by, tableCall{what: opOther, version: v, by: by})
}

// replaced notes that another table stands there.
func (h *history) replaced(t core.Target, head version) {
	if h != nil {
		clear(h.tables[t].landed)
	}
	h.onChain(t, "user", tableCall{what: opReplace, version: head.Version, by: head.by})
}

func (h *history) onChain(t core.Target, client string, c tableCall) {
	if h != nil {
		h.once(h.tables[t], client, c, core.Applied)
	}
}

// recovered notes that an execution is, when the transaction says so.
func (h *history) recovered(t core.Txn) {
	if t.Name != "finish-recovery" {
		return
	}
	for _, op := range t.Then {
		if _, ok := targetOf(op.Key, "execution/"); ok {
			e := decode[core.Execution](core.Record{Key: op.Key, Value: op.Value})
			o := h.tables[e.Target]
			o.over = append(o.over, e.ID)
			h.once(o, "recovery", tableCall{what: opOver, execution: e.ID}, core.Applied)
		}
	}
}

// tableStep: a version is put once, each after the one before it; a commit of an execution that has been recovered
// is illegal; and whoever looks sees the newest.
func tableStep(state, input, output any) (bool, any) {
	s, c := state.(chain), input.(tableCall)
	landed := chain{c.version, c.by, s.over}
	switch c.what {
	case opOver:
		s.over = append(slices.Clip(s.over), c.execution)
		return true, s
	case opReplace:
		return true, landed
	case opSaw:
		return s.latest == c.version && s.by == c.by, s
	case opOther:
		return c.version == s.latest+1, landed
	case opPut:
		if output == core.NotApplied {
			return s.latest >= c.version, s
		}
		return c.version == s.latest+1 && !slices.Contains(s.over, c.execution), landed
	}
	panic(fmt.Sprintf("unknown access to a table: %v", c.what))
}

func sameChain(a, b any) bool {
	x, y := a.(chain), b.(chain)
	return x.latest == y.latest && x.by == y.by && slices.Equal(x.over, y.over)
}
