package sim

import (
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// kvInput is a request to the KV: a [core.Commit] or a [core.Read].
type kvInput struct {
	effect core.Effect
	holder string // of the lease that comes with it
}

// begin notes a request to the KV.
func (h *history) begin(client string, e core.Effect) *operation {
	if h == nil {
		return nil
	}
	op := h.call(h.kv, client, kvInput{e, client})
	if c, ok := e.(core.Commit); ok {
		op.part = h.post(client, c.Txn)
	}
	return op
}

// replied notes that the KV has dealt with a request. What an applied transaction means for a table or for its demand
// happens there at the same moment.
func (h *history) replied(op *operation, reply core.Event) {
	if h == nil {
		return
	}
	in := op.input.(kvInput)
	if c, ok := reply.(core.Committed); ok && c.Outcome == core.Applied {
		t := in.effect.(core.Commit).Txn
		h.recovered(t)
		h.demandMoved(t, op.part)
	} else if op.part != nil {
		h.lost(op.part) // a post whose comparison failed adds nothing to the demand
	}
	h.effect(op, reply)
}

// expired notes the end of a lease, as a request of nobody's.
func (h *history) expired(holder string, t core.Txn) {
	if h != nil {
		h.once(h.kv, "lease of "+holder, kvInput{core.Commit{Txn: t}, ""}, core.Committed{Outcome: core.Applied, Revision: h.w.kv.rev})
	}
}

// shown notes a change that a watch has delivered.
func (h *history) shown(ch kvChange) {
	if h != nil && ch.rev > h.kv.start.(*KV).rev {
		h.watched[ch.rev] = ch
	}
}

// watch starts anew to collect what watches tell, for the next window.
func (h *history) watch() {
	h.watched = map[core.Revision]kvChange{}
	h.kv.model = kvModel(h.watched)
}

// targetOf is the target of a record's key, if it is of the given kind.
func targetOf(key, kind string) (core.Target, bool) {
	seg, ok := strings.CutPrefix(key, core.Root+kind)
	if !ok {
		return "", false
	}
	t, err := core.TargetOfSegment(seg)
	return t, err == nil
}

// kvModel: every answer is that of one KV that does one thing at a time. A request without an answer is applied at
// some moment, or comes after everything else, which is the same as never. What a watch has told of a revision is what
// was written there: that spares a search many a try.
func kvModel(watched map[core.Revision]kvChange) model {
	return model{func(state, input, output any) (bool, any) { return kvStep(watched, state, input, output) }, sameKV}
}

func kvStep(watched map[core.Revision]kvChange, state, input, output any) (bool, any) {
	s, in := state.(*KV), input.(kvInput)
	switch e := in.effect.(type) {
	case core.Read:
		ans, ok := output.(core.ReadDone)
		return !ok || ans.Revision == s.rev && slices.Equal(ans.Records, s.Read(e.Ranges...)), s
	case core.Commit:
		ans, ok := output.(core.Committed)
		switch {
		case ok && ans.Outcome == core.NotApplied:
			return ans.Revision == s.rev && (leased(e.Txn) || !s.would(e.Txn)), s
		case ok && ans.Revision != s.rev+1 && ans.Revision != s.rev, !s.would(e.Txn):
			return false, s
		}
		if seen, any := watched[s.rev+1]; any && !ok && !seen.puttingAs(e.Txn) {
			return false, s
		}
		next := s.copied()
		return next.Apply(e.Txn, in.holder) && (!ok || next.rev == ans.Revision), next
	}
	panic("unknown request to the KV")
}

func sameKV(a, b any) bool {
	x, y := a.(*KV), b.(*KV)
	return x.rev == y.rev && slices.EqualFunc(x.records, y.records, func(r, s *kvRecord) bool { return *r == *s })
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
