package sim

import (
	"math/rand/v2"
	"time"

	"github.com/sluice-data/sluice/core"
)

// plot is something unlikely that takes several steps: it waits for the first of them on its table, sees to it
// that the others follow, and gives up after a while. That it is set is one choice, so it shrinks like any
// other fault. A plot only withholds what a network, a storage or a machine may withhold as well.
type plot struct {
	w      *world
	what   scheme
	target core.Target
	jitter func(most time.Duration) time.Duration
	exec   core.ExecutionID // that it is about, once it has begun
	proc   *process         // that it has stopped
	engine *engine          // that it lets do something
	held   []func()         // what waits for its moment
	cuts   []string         // that it has made
	over   bool
}

type scheme uint8

// schemeNames are for the timeline.
var schemeNames = [schemes]string{
	"a put that lands late in the barrier", "a client that commits at each fence", "a fence after the hand-over",
	"an hour without the KV", "a cancel that is not answered", "a freeze against an admit", "a start at the queue limit",
	"a step at the last moment", "a cancel that meets a put",
	"a tag that comes after the record of what it needs",
}

const (
	// lateInBarrier: a manifest goes missing with its engine, and lands once its execution is frozen.
	lateInBarrier scheme = iota
	// clientAtFence: a manifest never lands, and clients commit whenever a fence is under way.
	clientAtFence
	// fenceAfterHandOver: a manifest never lands, its worker dies, and the master that fences first is stopped
	// until somebody else has handed the table over.
	fenceAfterHandOver
	// hourWithoutKV: the KV goes away with a manifest under way, for more than an hour.
	hourWithoutKV
	// cancelUnheard: a person has the table adopted anew while an execution runs, and its worker hears that it is
	// to end, but is not heard.
	cancelUnheard
	// freezeAgainstAdmit: no master reaches a healthy worker, and its engine wants to commit just when one of
	// them freezes its execution.
	freezeAgainstAdmit
	// startAtQueueLimit: the requests to start arrive when the queue limit has run out.
	startAtQueueLimit
	// stepAtLastMoment: no master reaches a worker whose engine has done nothing for long, and it completes something
	// just when one of them freezes its execution for that.
	stepAtLastMoment
	// cancelMeetsPut: an execution is cancelled with a manifest under way, which lands once the table is given back.
	cancelMeetsPut
	// tagAfterRecord: what an older version needs is written down to be reclaimed, a user tags that version, and the
	// worker dies before it does anything about what it has written.
	tagAfterRecord
	schemes
)

const (
	plotEvery  = 7 * time.Minute // how often one may be set on a table
	plotGiveUp = 25 * time.Minute
)

// scheming sets plots on a table from time to time.
func (r *run) scheming(t core.Target) {
	name := "plot/" + string(t)
	r.w.after(time.Minute+time.Duration(r.src.jitter(name, int64(plotEvery))), func() {
		if r.stage == healed {
			return
		}
		v := r.src.choose(name, func(d *rand.Rand) int64 {
			if !often(d, r.profile.Rates.Plot) {
				return 0
			}
			// The races need luck besides, so they are tried more often.
			v := d.Int64N(int64(schemes) + 8)
			if v >= int64(schemes) {
				v = int64([]scheme{freezeAgainstAdmit, startAtQueueLimit, stepAtLastMoment, tagAfterRecord}[v%4])
			}
			return 1 + v
		})
		if v != 0 && r.w.plot == nil {
			r.set(t, scheme(v-1))
		}
		r.scheming(t)
	})
}

// set sets a plot on a table.
func (r *run) set(t core.Target, what scheme) {
	p := &plot{w: r.w, what: what, target: t, jitter: func(most time.Duration) time.Duration {
		return time.Duration(r.src.jitter("plot", int64(most)))
	}}
	r.w.plot = p
	r.w.cover.fault("plot: " + schemeNames[what])
	r.w.say("---", "on %s awaits: %s", t, schemeNames[what])
	r.stir(t)
	r.w.after(plotGiveUp, func() {
		if p.what != hourWithoutKV || p.exec == "" { // that one ends when the KV is back
			p.end()
		}
	})
}

// stir sees to it that something is about to happen to a table: it is not draining, a generation is to be merged,
// and two masters and two workers live.
func (r *run) stir(t core.Target) {
	if r.w.checks.draining(t) {
		r.mode(t, core.Owned)
	}
	r.flush(t, 1)
	masters, workers := 0, 0
	for _, p := range r.w.procs {
		n := &masters
		if p.worker {
			n = &workers
		}
		if *n++; p.machine == nil && *n <= 2 {
			r.w.boot(p)
		}
	}
}

// lasts reports whether a plot is under way that has an end of its own.
func (p *plot) lasts() bool { return p != nil && p.what == hourWithoutKV && p.exec != "" }

// begin takes an execution for the one that it is about.
func (p *plot) begin(en *engine) {
	p.exec = en.exec.ID
	p.w.say("---", "to %s happens: %s", en.name(), schemeNames[p.what])
}

// end lets everything go.
func (p *plot) end() {
	if p == nil || p.over {
		return
	}
	p.over = true
	if p.w.plot == p {
		p.w.plot = nil
	}
	p.release(0)
	for _, c := range p.cuts {
		delete(p.w.cuts, c)
	}
	if p.proc != nil && p.proc.paused {
		p.w.resume(p.proc)
	}
}

// release lets go what is held.
func (p *plot) release(after time.Duration) {
	held := p.held
	p.held = nil
	for _, do := range held {
		p.w.after(after, do)
	}
}

// quiets reports whether clients leave a table alone: their commits would take the version that the plot is about.
func (p *plot) quiets(t core.Target) bool {
	return p != nil && !p.over && p.target == t && p.exec != ""
}

// concerns reports whether a transaction is about the execution of its table.
func (p *plot) concerns(t core.Txn) bool {
	target, ok := about(t, "execution/")
	return ok && target == p.target
}

func (p *plot) is(what scheme, t core.Target) bool {
	return p != nil && !p.over && p.what == what && p.target == t
}
