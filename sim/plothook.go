package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// Where the world asks the plot that is set, if one is: each of these knows its moment, and leaves everything
// else alone.

// sent is told of each manifest that goes to storage, with the fate that awaits it, and how it lands there. It
// may give it another one.
func (p *plot) sent(a *attempt, fate putFate, land func()) (putFate, bool) {
	if p.is(freezeAgainstAdmit, a.target) && p.exec == a.engine.exec.ID {
		return putFate{lands: time.Minute + p.jitter(10*time.Minute)}, false // so that only its watermark tells of it
	}
	if p == nil || p.exec != "" || p.target != a.target {
		return fate, false
	}
	en, w := a.engine, p.w
	dies := func() {
		w.after(time.Millisecond, func() {
			w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 9"})
		})
	}
	switch p.what {
	case lateInBarrier:
		dies()
		p.begin(en)
		p.held = append(p.held, land)
		return putFate{}, true
	case cancelMeetsPut:
		p.begin(en)
		p.held = append(p.held, land)
		w.after(p.jitter(10*time.Second), func() {
			w.deliver(en.proc, core.CancelRequested{
				Request: w.newRequest(), Target: en.exec.Target, Execution: en.exec.ID,
				Why: core.Failure{Code: core.CodeCancelled, Detail: "somebody has asked for it"},
			})
		})
		return putFate{}, true
	case clientAtFence:
		dies()
		p.begin(en)
		return putFate{never: true}, false
	case fenceAfterHandOver:
		p.begin(en)
		w.after(p.jitter(time.Second), func() {
			if !p.over { // the faults may have ended meanwhile
				w.kill(en.proc)
			}
		})
		return putFate{never: true}, false
	case hourWithoutKV:
		p.begin(en)
		w.kvAway(time.Hour + p.jitter(15*time.Minute))
		w.after(time.Hour+30*time.Minute, p.end)
		return putFate{lands: time.Hour + p.jitter(20*time.Minute)}, false
	}
	return fate, false
}

// asking is told of each transaction that is sent to the KV; it says how much later than usual that arrives.
func (p *plot) asking(t core.Txn) time.Duration {
	if p == nil || t.Name != "freeze" || !p.concerns(t) {
		return 0
	}
	if p.what == stepAtLastMoment && p.engine != nil && p.engine.alive() {
		en := p.engine
		p.w.after(time.Minute, p.end)
		en.worked = p.w.now
		p.w.deliver(en.proc, core.EngineReported{Target: en.exec.Target, Execution: en.exec.ID, Counters: core.Counters{Rows: 1 << 40}})
		return 60*time.Millisecond + p.jitter(120*time.Millisecond)
	}
	if p.what != freezeAgainstAdmit && p.what != startAtQueueLimit || len(p.held) == 0 {
		return 0
	}
	p.w.after(time.Minute, p.end)
	p.release(p.jitter(60 * time.Millisecond))
	return p.jitter(120 * time.Millisecond)
}

// applied is told of each transaction that the KV has applied.
func (p *plot) applied(t core.Txn) {
	if t.Name == "reclaim" && p != nil && p.what == tagAfterRecord {
		p.recorded(t)
		return
	}
	switch {
	case p == nil || p.exec == "" || !p.concerns(t):
	case p.what == drainInBarrier && t.Name == "freeze":
		p.release(p.jitter(10 * time.Millisecond)) // there is but one fence to come before
		p.w.after(time.Second, p.end)
	case p.what == lateInBarrier && t.Name == "freeze":
		p.release(p.jitter(120 * time.Millisecond))
		p.w.after(time.Second, p.end)
	case p.what == fenceAfterHandOver && t.Name == "release":
		p.w.after(p.jitter(time.Minute), p.end)
	case p.what == cancelMeetsPut && t.Name == "release":
		p.release(p.jitter(time.Second))
		p.w.after(time.Minute, p.end)
	case p.what == clientAtFence && t.Name == "release":
		p.w.after(0, p.end)
	}
}

// drains is told of each drain that goes to storage; it reports whether it keeps it, and lets it land once its worker
// is dead and its execution frozen.
func (p *plot) drains(by *process, e core.PutDrain, land func()) bool {
	if !p.is(drainInBarrier, e.Target) || p.exec != "" {
		return false
	}
	p.exec = e.Execution
	p.w.say("---", "to a drain of %s happens: %s", e.Target, schemeNames[p.what])
	p.held = append(p.held, land)
	p.w.kill(by)
	return true
}

// recorded is told of what is written down to be reclaimed.
func (p *plot) recorded(t core.Txn) {
	target, _ := about(t, "reclaim/")
	tb := p.w.lake.tables[target]
	e := Get[core.Execution](p.w.kv, core.ExecutionKey(target))
	worker := p.w.process(string(e.Endpoint))
	if target != p.target || worker == nil || tb == nil || t.Then[0].Op != core.OpPut {
		return
	}
	r := decode[core.Reclaim](core.Record{Key: t.Then[0].Key, Value: t.Then[0].Value})
	for i, v := range tb.versions {
		if v.Marks.Of(r.SSTables[0].Shard) < r.SSTables[0].Generation {
			tb.tag(len(tb.versions)-1-i, p.w.now)
			p.w.say("---", "a user tags v%d of %s", v.Version, target)
			p.w.kill(worker)
			break
		}
	}
	p.w.after(0, p.end)
}

// fencing is told of each fence before it is sent; it reports whether it keeps it.
func (p *plot) fencing(by *process, f core.PutFence) bool {
	switch {
	case p == nil || f.Adopt || f.Target != p.target || f.Execution != p.exec:
	case p.what == clientAtFence:
		if t := p.w.lake.tables[f.Target]; t != nil {
			t.foreign()
		}
	case p.what == fenceAfterHandOver && p.proc == nil:
		if _, master := by.machine.(*core.Master); master {
			p.w.say("---", "%s is stopped before its fence", by.name)
			p.proc = by
			p.w.pause(by)
			life := by.life
			by.inbox = append(by.inbox, func() {
				if by.life == life {
					p.w.perform(by, f)
				}
			})
			return true
		}
	}
	return false
}

// withholds reports whether it keeps a request to a worker.
func (p *plot) withholds(ev core.Event, arrive func()) bool {
	start, ok := ev.(core.StartRequested)
	if !ok || !p.is(startAtQueueLimit, start.Execution.Target) {
		return false
	}
	p.held = append(p.held, arrive)
	return true
}

// started is told of each engine.
func (p *plot) started(en *engine) {
	if p.is(freezeAgainstAdmit, en.exec.Target) && p.exec == "" {
		p.begin(en)
		en.script = engineScript{real: true, quiet: true}
		for _, m := range p.masters() {
			p.cut(way{m.name, en.proc.name})
		}
	}
	if p.is(stepAtLastMoment, en.exec.Target) && p.exec == "" {
		p.begin(en)
		p.engine, en.script = en, engineScript{silent: true}
		for _, m := range p.masters() {
			p.cut(way{m.name, en.proc.name})
		}
	}
	if p.is(cancelUnheard, en.exec.Target) && p.exec == "" {
		p.begin(en)
		en.script = engineScript{real: true, trickle: time.Minute}
		for _, m := range p.masters() {
			p.cut(way{en.proc.name, m.name})
			p.w.after(time.Second+p.jitter(10*time.Second), func() {
				p.w.deliver(m, core.AdoptRequested{Request: p.w.newRequest(), Target: p.target})
			})
		}
		p.w.after(time.Minute, p.end)
	}
}

// commits reports whether it keeps an engine from its commit for now.
func (p *plot) commits(en *engine, commit func()) bool {
	if !p.is(freezeAgainstAdmit, en.exec.Target) || p.exec != en.exec.ID {
		return false
	}
	p.held = append(p.held, commit)
	return true
}

func (p *plot) masters() (all []*process) {
	for _, m := range p.w.procs {
		if !m.worker {
			all = append(all, m)
		}
	}
	return all
}

// cut cuts a way until the plot ends.
func (p *plot) cut(c way) {
	if name := c.String(); !p.w.cuts[name] {
		p.w.cuts[name] = true
		p.cuts = append(p.cuts, name)
	}
}
