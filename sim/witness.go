package sim

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-data/sluice/core"
)

// witness is the proof that the KV of a run is linearizable: an order of all requests that explains every
// answer, each request lying between its call and its answer. The KV of the world gives that order itself, by
// the moments at which it carries requests out; the witness carries them out once more on a KV of its own, in
// that order, and compares every answer, also those that got lost on their way back. A request that was
// carried out at no moment, since it got lost before, comes after everything else, which is the same as never.
//
// An order that was checked is worth as much as one that was searched for, and costs one step a request, so it
// covers a run of any length. (What was rejected: only to search. Where many requests were never answered, no
// search ends.) Porcupine still searches the beginning of every run, knowing only what the clients know: so
// the model and the witness hold each other to the truth.
type witness struct {
	kv     *KV
	steps  int
	broken string // the first answer that the order does not explain
}

func newWitness() witness { return witness{kv: NewKV()} }

// took notes that the KV has carried out a request, and what it answered.
func (h *history) took(e core.Effect, holder string, answer core.Event) {
	if h == nil || h.witness.broken != "" {
		return
	}
	w := &h.witness
	w.steps++
	switch e := e.(type) {
	case core.Read:
		said := answer.(core.ReadDone)
		if said.Revision != w.kv.rev || !slices.Equal(said.Records, w.kv.Read(e.Ranges...)) {
			w.broken = "a read shows what no order of the requests explains"
		}
	case core.Commit:
		w.commit(e.Txn, holder, answer.(core.Committed))
	}
}

func (w *witness) commit(t core.Txn, holder string, said core.Committed) {
	would := w.kv.would(t)
	switch {
	case said.Outcome == core.NotApplied && would && !leased(t): // a leased one fails when its holder is dead
		w.broken = t.Name + " was refused, and all its conditions held"
	case said.Outcome == core.NotApplied:
	case !would:
		w.broken = t.Name + " was applied, and one of its conditions did not hold"
	default:
		w.kv.Apply(t, holder)
		w.kv.log = w.kv.log[:0] // nobody watches it
	}
	if w.broken == "" && said.Revision != w.kv.rev {
		w.broken = t.Name + " was answered with another revision than it has in any order"
	}
}

// searchTime bounds the search for an order where one has been shown to exist.
const searchTime = time.Second

// judgeKV takes the witness's word, and lets porcupine look for a contradiction.
func (h *history) judgeKV(calls []porcupine.Operation, budget time.Duration) judgement {
	j := judgement{model: "the KV is linearizable"}
	if h.witness.broken != "" {
		j.model, j.result = j.model+": "+h.witness.broken, porcupine.Illegal
		return j
	}
	if j.result = check(h.kvModel(), calls, min(budget, searchTime)); j.result == porcupine.Unknown {
		j.result = porcupine.Ok // the search did not end; the witness stands
	}
	return j
}
