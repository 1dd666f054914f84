package sim

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// history records what clients asked and were told, for the models that are checked at the end. An
// answer that never reached its asker is unknown: the request may have taken effect at any time since.
type history struct {
	kv     []kvCall
	table  map[core.Target][]tableCall
	demand map[core.Target][]demandCall
	// watched is what watches have told of each revision.
	watched map[core.Revision]kvChange
	// texts are the revisions at which watches have shown each text of a demand first.
	texts map[string]core.Revision
	// pending are the requests to the KV that have no answer yet, by the life of the asker.
	pending map[string][]asked
	full    bool // the KV's part has reached its bound
	witness witness
}

// asked is where the notes of one request are.
type asked struct {
	client   string
	effect   core.EffectID
	kv, post int
	target   core.Target
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

// open is the end of a call that was never answered; the last look comes before it.
const (
	open     = math.MaxInt64
	lastLook = math.MaxInt64 - 2
)

// maxKVCalls bounds the KV's history, so that checking it ends.
const maxKVCalls = 3000

// kvCall is one request to the KV.
type kvCall struct {
	client     string
	call, back int64
	effect     core.Effect
	holder     string
	answer     core.Event // nil: unknown
	final      bool       // the last one: what was not applied by then is as if it never was
}

// tableCall is one access to a table's version chain.
type tableCall struct {
	client     string
	call, back int64
	what       tableOp
	version    core.Version
	by         string
	execution  core.ExecutionID
	outcome    core.Outcome
}

type tableOp uint8

const (
	opPut     tableOp = iota // put-if-absent of an execution's commit
	opSaw                    // a look at the head
	opOther                  // somebody else's commit that landed: fences, clients
	opOver                   // the execution is recovered: nothing of it may land from here on
	opReplace                // another table, or an older copy, stands there now
)

func newHistory() *history {
	return &history{table: map[core.Target][]tableCall{}, demand: map[core.Target][]demandCall{}, pending: map[string][]asked{}, watched: map[core.Revision]kvChange{}, texts: map[string]core.Revision{}, witness: newWitness()}
}

// begin notes a request to the KV.
func (h *history) begin(p *process, e core.Effect, w *world) {
	if h == nil {
		return
	}
	now := w.now
	c := asked{client: p.id, kv: -1, post: -1}
	if !h.full {
		h.kv = append(h.kv, kvCall{client: p.id, call: int64(now), back: open, effect: e, holder: p.id})
		c.kv = len(h.kv) - 1
	}
	if !h.full && len(h.kv) >= maxKVCalls {
		h.finalRead(w)
	}
	switch e := e.(type) {
	case core.Commit:
		c.effect = e.ID
		c.target, c.post = h.posts(p.id, e.Txn, now)
	case core.Read:
		c.effect = e.ID
	}
	h.pending[p.id] = append(h.pending[p.id], c)
}

// answered notes an answer of the KV that has reached its asker. One that has not leaves its call open.
func (h *history) answered(p *process, answer core.Event, now core.MonoTime) {
	if h == nil {
		return
	}
	var id core.EffectID
	outcome, rev := core.Unknown, core.Revision(0)
	switch a := answer.(type) {
	case core.Committed:
		id, outcome, rev = a.Effect, a.Outcome, a.Revision
	case core.ReadDone:
		id = a.Effect
	default:
		return
	}
	list := h.pending[p.id]
	for i, c := range list {
		if c.effect != id {
			continue
		}
		if c.kv >= 0 && !h.full {
			h.kv[c.kv].back, h.kv[c.kv].answer = int64(now), answer
		}
		h.posted(c.target, c.post, outcome, rev, now)
		h.pending[p.id] = slices.Delete(list, i, i+1)
		return
	}
}

// told notes a change that a watch has delivered.
func (h *history) told(ch kvChange) {
	if h == nil {
		return
	}
	if !h.full {
		h.watched[ch.rev] = ch
	}
	for _, r := range ch.puts {
		if strings.HasPrefix(r.Key, core.Root+"demand/") {
			if _, again := h.texts[r.Value]; !again { // a release may write the same text once more
				h.texts[r.Value] = r.Mod
			}
		}
	}
}

// finalRead ends the KV's history with a look at everything.
func (h *history) finalRead(w *world) {
	if h.full {
		return
	}
	h.full = true
	h.kv = append(h.kv, kvCall{
		client: "reader", call: int64(w.now), back: int64(w.now), final: true, effect: core.Read{Ranges: []core.Range{core.Everything()}},
		answer: core.ReadDone{OK: true, Revision: w.kv.rev, Records: w.kv.Read(core.Everything())},
	})
}

// expired notes the end of a lease, as a request of nobody's.
func (h *history) expired(holder string, t core.Txn, rev core.Revision, now core.MonoTime) {
	if h == nil {
		return
	}
	answer := core.Committed{Outcome: core.Applied, Revision: rev}
	h.took(core.Commit{Txn: t}, "", answer)
	if h.full {
		return
	}
	h.kv = append(h.kv, kvCall{client: "lease of " + holder, call: int64(now), back: int64(now), effect: core.Commit{Txn: t}, answer: answer})
}

func (h *history) add(t core.Target, c tableCall) int {
	h.table[t] = append(h.table[t], c)
	return len(h.table[t]) - 1
}

// put notes that a manifest goes to storage.
func (h *history) put(a *attempt, now core.MonoTime) int {
	if h == nil {
		return -1
	}
	return h.add(a.target, tableCall{
		client: a.by(), call: int64(now), back: open, what: opPut, version: a.body.Version, by: a.by(),
		execution: a.engine.exec.ID, outcome: core.Unknown,
	})
}

// puts notes what the gate found out about it.
func (h *history) puts(t core.Target, i int, outcome core.Outcome, now core.MonoTime) {
	if h == nil || i < 0 || outcome == core.Unknown {
		return
	}
	h.table[t][i].back, h.table[t][i].outcome = int64(now), outcome
}

// saw notes a look that showed the head.
func (h *history) saw(p *process, t core.Target, head version, now core.MonoTime) {
	if h != nil {
		h.add(t, tableCall{client: p.id, call: int64(now), back: int64(now), what: opSaw, version: head.Version, by: head.by})
	}
}

// moved notes somebody else's commit.
func (h *history) moved(t core.Target, by string, v core.Version, now core.MonoTime) {
	if h != nil {
		h.add(t, tableCall{client: by, call: int64(now), back: int64(now), what: opOther, version: v, by: by})
	}
}

// replaced notes that another table stands there.
func (h *history) replaced(t core.Target, head version, now core.MonoTime) {
	if h != nil {
		h.add(t, tableCall{client: "user", call: int64(now), back: int64(now), what: opReplace, version: head.Version, by: head.by})
	}
}

// applied notes what a transaction means for tables and demand.
func (h *history) applied(t core.Txn, before map[string]core.Record, w *world) {
	if h == nil {
		return
	}
	for _, op := range t.Then {
		rec, ok := before[op.Key]
		if !ok || op.Op != core.OpPut || t.Name != "finish-recovery" {
			continue
		}
		e := decode[core.Execution](rec)
		h.add(e.Target, tableCall{client: "recovery", call: int64(w.now), back: int64(w.now), what: opOver, execution: e.ID})
	}
	h.demandMoved(t, w)
}
