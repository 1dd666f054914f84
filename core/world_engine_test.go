package core_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// engineScript says how the engines of a world behave.
type engineScript struct {
	// silent engines start and then do nothing at all; deaf ones also ignore that they are stopped.
	silent, deaf bool
	// fail is what the next engines report instead of working.
	fail core.Failure
	// strict engines behave as on passes with tombstones: their commits may not be rebased.
	strict bool
	// memory is how many bytes of SSTables the engines can take; 0 means any number.
	memory core.Bytes
	// chokes is a shard with which they die and say nothing.
	chokes core.ShardID
	// lying engines report success without a commit.
	lying bool
}

// engine is the merge of one execution: it reads its plan, commits, and ends.
type engine struct {
	script engineScript // as it was when the engine started
	exec   core.Execution
	inputs []core.ShardInput
	proc   *process
	life   int
	dead   bool
	tries  int
	open   *attempt
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
	engine *engine
	target core.Target
	body   core.BaseManifest
	rows   map[string]string
	sent   bool // it went to storage
}

func (w *world) startEngine(p *process, e core.StartEngine) {
	en := &engine{script: w.engines, exec: e.Execution, inputs: e.Inputs, proc: p, life: p.life}
	p.engines[e.Execution.Target] = en
	w.engineStep(en, func() {
		switch {
		case en.script.silent || en.script.deaf:
		case !en.script.fail.OK():
			w.endEngine(en, en.script.fail)
		case en.script.memory > 0 && en.size() > en.script.memory:
			w.endEngine(en, core.Failure{Code: core.CodeEngineOOM, Detail: "out of memory"})
		case en.script.chokes != "" && slices.ContainsFunc(en.exec.Plan, func(p core.ShardPlan) bool { return p.Shard == en.script.chokes }):
			w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 11"})
		case en.script.lying:
			w.endEngine(en, core.Failure{})
		default:
			w.deliver(p, core.EngineReported{Target: en.exec.Target, Execution: en.exec.ID, Counters: core.Counters{Rows: 1}})
			w.plan(en)
		}
	})
}

// engineStep lets an engine go on after a while, if it still lives then.
func (w *world) engineStep(en *engine, do func()) {
	w.after(100*time.Millisecond+w.faults.delay("engine"), func() {
		if !en.dead && en.proc.life == en.life && en.proc.machine != nil {
			do()
		}
	})
}

func (w *world) letGo(p *process, e core.LetGo) {
	if en := p.engines[e.Target]; en != nil && en.exec.ID == e.Execution {
		w.engineStep(en, func() { w.commit(en) })
	}
}

// plan declares the next try to publish the pass.
func (w *world) plan(en *engine) {
	a := core.Attempt{Rebasable: !en.script.strict}
	if t, ok := w.lake.tables[en.exec.Target]; ok {
		a.Read = t.head().Version
	}
	w.deliver(en.proc, core.EnginePlanned{Target: en.exec.Target, Execution: en.exec.ID, Attempt: a})
}

// commit merges the plan into the base as it is now and asks the gate to put that.
func (w *world) commit(en *engine) {
	t, ok := w.lake.tables[en.exec.Target]
	if !ok || w.lake.down {
		w.endEngine(en, core.Failure{Code: core.CodeStorage, Detail: "the lake is away"})
		return
	}
	head := t.head()
	body, rows := head.BaseManifest, maps.Clone(head.rows)
	body.Version, body.ReadVersion, body.Operation = head.Version+1, head.Version, core.OpUpdate
	for i, in := range en.inputs {
		if s := t.shard(in.Shard); s != nil {
			for _, st := range s.sstables {
				if st.generation > in.Mark && st.generation <= en.exec.Plan[i].Last {
					overlay(rows, st.rows)
				}
			}
		}
		body.Marks = body.Marks.With(in.Shard, en.exec.Plan[i].Last)
	}
	en.tries++
	a := &attempt{engine: en, target: en.exec.Target, body: body, rows: rows}
	en.open = a
	request := w.newRequest()
	w.gate[request] = a
	w.deliver(en.proc, core.CommitRequested{Request: request, Intent: core.CommitIntent{
		Target: en.exec.Target, Execution: en.exec.ID,
		Name:   core.ManifestName{Version: body.Version, Scheme: body.Scheme},
		Latest: head.BaseManifest, Body: body,
	}})
}

// gateAnswered does what the gate does with a verdict.
func (w *world) gateAnswered(p *process, e core.AnswerCommit) {
	a := w.gate[e.Request]
	if a == nil {
		return // its sender has gone
	}
	if !e.Verdict.OK() {
		delete(w.gate, e.Request)
		w.say(p.name, "gate refuses v%d: %d %s", a.body.Version, e.Verdict.Status, e.Verdict.Rule)
		w.attemptOver(a, e.Verdict.Status)
		return
	}
	a.sent = true
	life := p.life
	put := func() {
		outcome := w.put(a)
		lost, _ := w.faults.lose("put")
		w.after(w.faults.delay("put"), func() { w.putDone(p, life, e.Request, a, outcome, lost) })
	}
	if w.holding {
		w.heldPut = append(w.heldPut, put)
		return
	}
	if lost, done := w.faults.lose("put"); lost {
		if !done {
			w.after(w.faults.delay("late put"), func() { w.put(a) }) // nobody hears what became of it
		} else {
			w.put(a)
		}
		w.after(w.faults.delay("put"), func() { w.putDone(p, life, e.Request, a, core.Unknown, true) })
		return
	}
	w.after(w.faults.delay("put"), put)
}

// put is the storage's put-if-absent.
func (w *world) put(a *attempt) core.Outcome {
	t := w.lake.tables[a.target]
	if t == nil || !t.publish(a.body, a.rows, a.engine.name()) {
		w.say("lake", "%s: put v%d of %s refused: exists", a.target, a.body.Version, a.engine.name())
		return core.NotApplied
	}
	w.say("lake", "%s: v%d by %s", a.target, a.body.Version, a.engine.name())
	w.checks.landed(a)
	w.checks.all()
	return core.Applied
}

func (w *world) putDone(p *process, life int, request core.RequestID, a *attempt, outcome core.Outcome, lost bool) {
	if p.life != life {
		return
	}
	delete(w.gate, request)
	if lost {
		outcome = core.Unknown
	}
	w.deliver(p, core.CommitSettled{Request: request, Target: a.target, Version: a.body.Version, Outcome: outcome})
	w.attemptOver(a, map[core.Outcome]int{core.Applied: 200, core.NotApplied: 412, core.Unknown: 503}[outcome])
}

// attemptOver tells the engine what the gate answered.
func (w *world) attemptOver(a *attempt, status int) {
	en := a.engine
	en.open = nil
	w.engineStep(en, func() {
		switch {
		case status == 200:
			w.endEngine(en, core.Failure{})
		case status == 412 && en.tries >= 5:
			w.endEngine(en, core.Failure{Code: core.CodeBaseContended, Detail: "five commits in a row came first"})
		case status == 412 && en.script.strict, status == 403 && en.script.strict && w.moved(a):
			w.plan(en)
		case status == 412:
			w.commit(en)
		case status == 503:
			w.endEngine(en, core.Failure{Code: core.CodeStorage, Detail: "the storage did not answer"})
		default:
			w.endEngine(en, core.Failure{Code: core.CodeRefused, Detail: "the gate refused the commit"})
		}
	})
}

// moved reports whether the base is no longer what an attempt was made on.
func (w *world) moved(a *attempt) bool {
	t, ok := w.lake.tables[a.target]
	return ok && t.head().Version >= a.body.Version
}

func (w *world) endEngine(en *engine, f core.Failure) {
	if en.dead {
		return
	}
	en.dead = true
	w.hangUp(en)
	w.tell(en.proc, "engine", core.EngineEnded{Target: en.exec.Target, Execution: en.exec.ID, Failure: f})
}

// hangUp drops what the gate still holds for an engine that is gone. What storage has is out of reach.
func (w *world) hangUp(en *engine) {
	for r := core.RequestID(1); r <= w.request; r++ {
		if a := w.gate[r]; a != nil && a.engine == en && !a.sent {
			delete(w.gate, r)
			w.deliver(en.proc, core.CommitDropped{Request: r, Target: en.exec.Target})
		}
	}
}

func (w *world) stopEngine(p *process, e core.StopEngine) {
	if en := p.engines[e.Target]; en != nil && en.exec.ID == e.Execution && !en.script.deaf {
		w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "stopped"})
	}
}
