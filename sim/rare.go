package sim

import (
	"strings"

	"github.com/sluice-data/sluice/core"
)

// rareties notice situations that take two things at once. They decide nothing; a standard batch must come to
// each of them, or the simulator checks nothing there.
type rareties struct {
	// watermarks are those that stood when a Freeze was sent.
	watermarks map[asking]string
	// recoverers are the masters that have fenced an execution.
	recoverers map[core.ExecutionID]string
}

// asking is one request that is under way.
type asking struct {
	process string
	effect  core.EffectID
}

func newRareties() rareties {
	return rareties{map[asking]string{}, map[core.ExecutionID]string{}}
}

// asks sends a transaction to the KV.
func (w *world) asks(p *process, e core.Commit) {
	if t, ok := frozenBy(e.Txn); ok {
		w.rare.watermarks[asking{p.id, e.ID}] = w.kv.Get(core.AdmittedKey(t)).Value
		w.checks.freezing[Get[core.Execution](w.kv, core.ExecutionKey(t)).ID] = w.now
	}
	late := w.plot.asking(e.Txn)
	if late == 0 {
		w.askKV(p, e)
		return
	}
	life := p.life
	w.after(late, func() {
		if p.life == life {
			w.askKV(p, e)
		}
	})
}

// frozenBy is the target of a Freeze.
func frozenBy(t core.Txn) (core.Target, bool) {
	if t.Name != "freeze" {
		return "", false
	}
	return about(t, "execution/")
}

// about is the target of a transaction's write of a kind.
func about(t core.Txn, kind string) (core.Target, bool) {
	for _, op := range t.Then {
		if target, ok := targetOf(op.Key, kind); ok {
			return target, true
		}
	}
	return "", false
}

// noticed looks at a transaction that the KV has judged.
func (w *world) noticed(p *process, e core.Commit, outcome core.Outcome) {
	applied := outcome == core.Applied
	w.cover.reasons(w, p)
	if applied {
		w.applied = e.Txn.Name
		w.plot.applied(e.Txn)
	}
	switch e.Txn.Name {
	case "freeze":
		w.noticedFreeze(p, e, applied)
	case "admit", "start":
		t, ok := about(e.Txn, map[string]string{"admit": "admitted/", "start": "execution/"}[e.Txn.Name])
		if !ok || applied {
			return
		}
		now := Get[core.Execution](w.kv, core.ExecutionKey(t))
		switch frozen := now.Phase == core.Recovering && now.End != nil; {
		case frozen && e.Txn.Name == "admit":
			w.cover.rare("an Admit loses to a Freeze")
		case frozen && now.End.Code == core.CodeQueueLimit:
			w.cover.rare("a Start loses to the queue limit")
		}
	case "release":
		t, _ := about(e.Txn, "execution/")
		if h, ok := released(e.Txn); ok && applied && h.Merged {
			for _, rec := range w.kv.Read(core.FailureRange(t)) {
				if len(decode[core.FailureRecord](rec).BadShards) > 0 {
					w.cover.rare("a bad shard beside good ones")
				}
			}
		}
	case "begin-adoption":
		t, ok := about(e.Txn, "table/")
		if tb := w.lake.tables[t]; applied && ok && tb.flying > 0 {
			w.cover.rare("a table is adopted with a put under way")
		}
	}
}

func (w *world) noticedFreeze(p *process, e core.Commit, applied bool) {
	t, _ := frozenBy(e.Txn)
	key := asking{p.id, e.ID}
	was, asked := w.rare.watermarks[key]
	delete(w.rare.watermarks, key)
	now := Get[core.Execution](w.kv, core.ExecutionKey(t))
	wanted := decode[core.Execution](core.Record{Key: e.Txn.Then[0].Key, Value: e.Txn.Then[0].Value})
	switch {
	case applied && asked && was != w.kv.Get(core.AdmittedKey(t)).Value:
		w.cover.rare("a Freeze loses to an Admit")
	case !applied && now.ID == wanted.ID && now.Phase == core.Running && wanted.End != nil && wanted.End.Code == core.CodeQueueLimit:
		w.cover.rare("the queue limit loses to a Start")
	case !applied && now.ID == wanted.ID && now.Phase == core.Running:
		w.cover.rare("a Freeze loses to completed work")
	}
}

// recovers notices who fences what.
func (w *world) recovers(p *process, f core.PutFence) {
	if _, master := p.machine.(*core.Master); f.Adopt || !master {
		return
	}
	if other := w.rare.recoverers[f.Execution]; other != "" && other != p.id {
		w.cover.rare("two masters recover one execution")
	}
	w.rare.recoverers[f.Execution] = p.id
}

// fences notices what a fence meets at the moment at which it would take effect.
func (w *world) fences(p *process, f core.PutFence, outcome core.Outcome) {
	tb := w.lake.tables[f.Target]
	if tb == nil {
		return
	}
	if outcome == core.Applied {
		w.cover.rare(map[bool]string{false: "a fence lands", true: "an adoption lands"}[f.Adopt])
	}
	if f.Adopt {
		return
	}
	if head := tb.head(); outcome == core.NotApplied && head.Version >= f.Version && strings.HasPrefix(head.by, "client") {
		w.cover.rare("a fence meets a client's commit")
	}
	if Get[core.Execution](w.kv, core.ExecutionKey(f.Target)).ID != f.Execution {
		w.cover.rare("a fence comes after the hand-over")
	}
}

// noticedLease notices what is left when a lease has ended.
func (w *world) noticedLease() {
	if len(w.kv.Read(core.MasterRange())) > 0 {
		return
	}
	for _, t := range sortedKeys(w.lake.tables) {
		if Get[core.Latch](w.kv, core.ModeKey(t)).Mode == core.Owned {
			w.cover.rare("a table is latched and no master lives")
		}
	}
}
