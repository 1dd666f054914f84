package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// thing may happen to the world as a whole; its weight says how often, beside the others.
type thing struct {
	weight int
	name   string
	do     func()
}

// things are what may happen; v says to whom, and how.
func (r *run) things(v int64) []thing {
	rates, w := r.profile.Rates, r.w
	p, q := w.procs[int(v>>10)%len(w.procs)], w.procs[int(v>>34)%len(w.procs)]
	t := r.targets[int(v>>14)%len(r.targets)]
	// Outages last from seconds to a quarter of an hour: most are short, or nothing else would ever go on.
	d := time.Duration(1<<(v>>18%9)) * (time.Second + time.Duration(v>>21%1000)*time.Millisecond)
	return []thing{
		{rates.Process, "a process ends or starts", func() { r.endOrStart(p, v) }},
		{rates.Pause, "a process is stopped for a while", func() { r.pause(p, d) }},
		{rates.Cut, "a process is cut off", func() { r.cut(p, v, d) }},
		{rates.Pair, "a way between two processes is cut", func() { r.cutWays(p, q, v, d) }},
		{rates.Pair / 3, "a process asks the KV and hears nothing", func() { r.cutAnswers(p, d) }},
		{rates.KVDown, "the KV is away", func() { w.kvAway(d) }},
		{rates.LakeDown, "the lake is away", func() { w.lakeAway(d) }},
		{rates.Clock, "a wall clock jumps", func() { p.clock.skew += core.WallMillis(v>>20%(1<<26)) - 1<<25 }},
		{rates.Clock / 2, "a monotonic clock leaps", func() { w.leap(p, d) }},
		{rates.History, "a user changes a table's history", func() { r.rewrite(t, v) }},
		{rates.Operator, "an operator does something", func() { r.operate(p, t, v) }},
		{rates.Compact, "the KV is compacted and a watch dropped", func() { w.kv.Compact(w.kv.rev); w.snapshot(p) }},
		{rates.Process / 2, "an engine is killed", func() { r.killEngine(t) }},
		{rates.Cut / 3, "a lease ends under a live holder", func() { w.expire(p.id) }},
		{rates.Process / 6, "a process has a twin", func() { r.twin(p, d) }},
		{rates.Drain, "a worker is drained", func() { r.drain(p, v, d) }},
	}
}

// happen does one thing to the world as a whole, chosen by v.
func (r *run) happen(v int64) {
	if r.stage != storming {
		return
	}
	things, total := r.things(v), 0
	for _, th := range things {
		total += th.weight
	}
	if total == 0 {
		return
	}
	pick := int(v&1023) % total
	for _, th := range things {
		if pick < th.weight {
			r.w.cover.fault(th.name)
			r.w.say("---", "%s (%s, %s)", th.name, r.w.procs[int(v>>10)%len(r.w.procs)].name, r.targets[int(v>>14)%len(r.targets)])
			th.do()
			r.w.checks.step()
			return
		}
		pick -= th.weight
	}
}
