package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// engineScript says how an engine behaves.
type engineScript struct {
	// silent engines start and then do nothing at all; deaf ones also ignore that they are stopped.
	silent, deaf bool
	// fail is what the engine reports instead of working.
	fail core.Failure
	// strict engines behave as on passes with tombstones: their commits may not be rebased.
	strict bool
	// memory is how many bytes of SSTables the engines can take; 0 means any number.
	memory core.Bytes
	// chokes is a shard with which they die and say nothing.
	chokes core.ShardID
	// lying engines report success without a commit.
	lying bool
	// real engines are strict where their pass has tombstones, and rebase as Lance does.
	real bool
	// two commits publish a pass: the rows first, then the deletes with the marks.
	two bool
	// trickle is how long the engine works, with a report of completed work now and then; idle reports
	// say the same again and again.
	trickle time.Duration
	// writes is how long it takes from its plan to its commit.
	writes time.Duration
	idle   bool
	// rogue engines commit what they may not: see misdeed.
	rogue int
	// quiet engines report nothing before their plan.
	quiet bool
	// dies: the engine ends while its commit is in storage.
	dies bool
}

// engine is the merge of one execution: it reads its plan, commits, and ends.
type engine struct {
	script  engineScript
	exec    core.Execution
	inputs  []core.ShardInput
	proc    *process
	life    int
	dead    bool
	told    bool // to stop
	tries   int
	rows    int64
	worked  core.MonoTime // when it completed something last
	rested  bool          // its rows have landed, the marks have not
	planned *version
	open    *attempt
}

func (en *engine) name() string { return fmt.Sprintf("execution %d", en.exec.Number) }

// size is what its SSTables take.
func (en *engine) size() (n core.Bytes) {
	for _, in := range en.inputs {
		for _, st := range in.SSTables {
			n += max(0, st.Size)
		}
	}
	return n
}

// attempt is one commit on its way through the gate.
type attempt struct {
	engine  *engine
	request core.RequestID
	target  core.Target
	table   *table
	body    core.BaseManifest
	rows    map[string]string
	marks   bool
	sent    bool // it went to storage
	behind  int  // by how many versions the look was stale that it was made on
}

func (w *world) startEngine(p *process, e core.StartEngine) {
	en := &engine{script: w.engines, exec: e.Execution, inputs: e.Inputs, proc: p, life: p.life, worked: w.now}
	if w.faults.script != nil {
		en.script = w.faults.script(p.name)
	}
	p.engines[e.Execution.Target] = en
	if !e.Execution.Kind.Maintains() {
		w.plot.started(en)
	}
	w.engineStep(en, 0, func() {
		bad, isBad := w.corrupt(en)
		switch {
		case en.script.silent || en.script.deaf:
			w.cover.rare("an engine hangs")
		case !en.script.fail.OK():
			w.endEngine(en, en.script.fail)
		case en.script.memory > 0 && en.size() > en.script.memory:
			w.endEngine(en, core.Failure{Code: core.CodeEngineOOM, Detail: "out of memory"})
		case en.script.chokes != "" && slices.ContainsFunc(en.exec.Plan, func(p core.ShardPlan) bool { return p.Shard == en.script.chokes }):
			w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 11"})
		case isBad:
			w.endEngine(en, bad)
		case en.script.lying:
			w.endEngine(en, core.Failure{})
		default:
			w.work(en, w.now.Add(en.script.trickle))
		}
	})
}

// alive reports whether an engine lives, and the worker that it is a child of.
func (en *engine) alive() bool {
	return !en.dead && en.proc.life == en.life && en.proc.machine != nil
}

// engineStep lets an engine go on after a while, if it still lives then.
func (w *world) engineStep(en *engine, d time.Duration, do func()) {
	w.after(d+100*time.Millisecond+w.faults.delay("engine", en.proc.name), func() {
		if en.alive() {
			do()
		}
	})
}

// work reports completed work, for as long as the engine takes, and then plans.
func (w *world) work(en *engine, until core.MonoTime) {
	if en.script.quiet && !en.script.idle && w.now < until {
		w.engineStep(en, until.Since(w.now), func() { w.work(en, until) })
		return
	}
	if en.rows == 0 || !en.script.idle {
		en.rows++
		en.worked = w.now
	}
	w.checks.idle(en)
	w.deliver(en.proc, core.EngineReported{Target: en.exec.Target, Execution: en.exec.ID, Counters: core.Counters{Rows: en.rows}})
	if w.now >= until {
		w.plan(en)
		return
	}
	w.engineStep(en, 4*time.Second, func() { w.work(en, until) })
}

func (w *world) letGo(p *process, e core.LetGo) {
	if en := p.engines[e.Target]; en != nil && en.exec.ID == e.Execution {
		w.engineStep(en, en.script.writes, func() {
			if !w.plot.commits(en, func() { w.commit(en) }) {
				w.commits(en)
			}
		})
	}
}

// plan declares the next try to publish the pass, on the base as it is now.
func (w *world) plan(en *engine) {
	en.planned = nil
	a := core.Attempt{Rebasable: !en.strict()}
	if t, ok := w.lake.tables[en.exec.Target]; ok {
		head := t.head()
		en.planned, a.Read = &head, head.Version
	}
	w.deliver(en.proc, core.EnginePlanned{Target: en.exec.Target, Execution: en.exec.ID, Attempt: a})
}

func (w *world) endEngine(en *engine, f core.Failure) {
	if en.dead {
		return
	}
	en.dead = true
	w.hangUp(en)
	w.tell(en.proc, "engine", core.EngineEnded{Target: en.exec.Target, Execution: en.exec.ID, Failure: f})
}

func (w *world) stopEngine(p *process, e core.StopEngine) {
	en := p.engines[e.Target]
	if en == nil || en.exec.ID != e.Execution {
		return
	}
	if en.told = true; !en.script.deaf {
		w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "stopped"})
	}
}

// hears makes an engine hear again that it is stopped, and what it was told before: a machine that is whole can
// kill its processes.
func (w *world) hears(en *engine) {
	if en.script.deaf = false; en.told {
		w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "stopped"})
	}
}
