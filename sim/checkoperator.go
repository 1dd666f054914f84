package sim

import "github.com/sluice-data/sluice/core"

// words are the budgets that operators have asked to be forgotten: of an endpoint on a target, or everywhere. A
// transaction may reach the KV long after it was sent, so what was asked for once stays so.
type words map[core.ForgetRequested]bool

func (w words) event(ev core.Event) {
	if ev, ok := ev.(core.ForgetRequested); ok {
		ev.Request = 0
		w[ev] = true
	}
}

// forgets reports whether an operator has asked for a budget to be forgotten.
func (w words) forgets(f core.FailureRecord) bool {
	return w[core.ForgetRequested{Target: f.Target, Endpoint: f.Endpoint}] || w[core.ForgetRequested{Endpoint: f.Endpoint}]
}

// heights are how much a mode forbids.
var heights = map[core.Mode]int{core.Owned: 1, core.Draining: 2}

// policy checks that a mode changes by an operator's word alone, and comes down only while nobody owns the table
// and no live process declares against it.
func (c *checks) policy(t core.Txn, op core.Op, before map[string]core.Record) {
	target, _ := targetOf(op.Key, "policy/")
	was, now := decode[core.Policy](before[op.Key]).Mode, decode[core.Policy](core.Record{Key: op.Key, Value: op.Value}).Mode
	if was != now && t.Name != "mode" {
		c.fail(6, "%s takes the mode of %s from %q to %q", t.Name, target, was, now)
	}
	latch := Get[core.Latch](c.w.kv, core.ModeKey(target)).Mode
	wasLatched := latch
	if rec, touched := before[core.ModeKey(target)]; touched {
		wasLatched = decode[core.Latch](rec).Mode
	}
	to := max(heights[now], heights[latch])
	if to >= max(heights[was], heights[wasLatched]) {
		return
	}
	if owner := c.w.kv.Get(core.OwnerKey(target)); owner.Mod != 0 {
		c.fail(6, "the mode of %s comes down while %s owns it", target, owner.Value)
	}
	declared := map[string]core.Declaration{}
	for _, r := range c.w.kv.Read(core.MasterRange()) {
		declared[r.Key] = decode[core.MasterRecord](r).Declares
	}
	for _, r := range c.w.kv.Read(core.WorkerRange()) {
		declared[r.Key] = decode[core.WorkerRecord](r).Declares
	}
	for _, key := range sortedKeys(declared) {
		if says := declared[key].Says(target); heights[says] > to {
			c.fail(6, "the mode of %s comes down while %s declares it %s", target, key, says)
		}
	}
}
