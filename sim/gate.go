package sim

import (
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// The gate of a worker: it holds each manifest until the machine has given its verdict, puts it to storage
// and says what became of it. What it says is definite only after storage's own yes, or after the version
// was read back.

// commits has an engine commit, after it has written its files, which the gate sees.
func (w *world) commits(en *engine) {
	if !en.alive() {
		return
	}
	if en.script.real {
		w.deliver(en.proc, core.Worked{Target: en.exec.Target, Execution: en.exec.ID, Writes: 1, Bytes: 1})
	}
	if en.alive() {
		w.commit(en)
	}
}

// brings brings a commit before the gate, which looks at the table first.
func (w *world) brings(a *attempt, intent core.CommitIntent) {
	en := a.engine
	who := en.proc.name
	if w.faults.blind("gate", who) || w.lake.down {
		w.cover.rare("a gate can't look at the table")
		w.attemptOver(a, 503)
		return
	}
	behind := max(a.behind, w.faults.stale("gate", who)) // both see the same old state, or the gate an older one
	if a.table.gone {
		w.attemptOver(a, 403)
		return
	}
	intent.Latest = a.table.shown(behind).BaseManifest
	a.request = w.newRequest()
	w.gate[a.request] = a
	w.deliver(en.proc, core.CommitRequested{Request: a.request, Intent: intent})
}

// gateAnswered does what the gate does with a verdict.
func (w *world) gateAnswered(p *process, e core.AnswerCommit) {
	a := w.gate[e.Request]
	if a == nil {
		return // its sender has gone
	}
	if !e.Verdict.OK() {
		delete(w.gate, e.Request)
		w.cover.rule(e.Verdict.Rule)
		w.say(p.name, "gate refuses v%d: %d %s", a.body.Version, e.Verdict.Status, e.Verdict.Rule)
		w.attemptOver(a, e.Verdict.Status)
		return
	}
	a.sent = true
	w.checks.letThrough(a)
	life := p.life
	if w.holding {
		w.heldPut = append(w.heldPut, func() { w.answered(p, life, e.Request, a, w.put(a), false) })
		return
	}
	if lost, done := w.faults.lose("put", p.name); lost { // as a scenario wants it
		if done {
			w.put(a)
		}
		w.after(w.faults.delay("put", p.name), func() { w.answered(p, life, e.Request, a, core.Unknown, true) })
		return
	}
	// The gate is a part of the worker: while that is stopped nothing is sent, and once it is dead nothing
	// ever is. What was sent is out of everybody's hands.
	w.after(w.faults.delay("put", p.name), func() { w.act(p, life, func() { w.send(p, life, e.Request, a) }) })
}

// send gives a manifest to storage, with the fate that it has there.
func (w *world) send(p *process, life int, request core.RequestID, a *attempt) {
	op := w.history.put(a)
	outcome := core.Unknown
	a.table.flying++
	fate, kept := w.faults.put(p.name), false
	if a.engine.script.dies {
		w.after(time.Millisecond, func() {
			w.cover.rare("an engine dies while its commit is in storage")
			w.endEngine(a.engine, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 9"})
		})
	}
	land := func() {
		a.table.flying--
		if fate.never {
			w.history.lost(op)
			return
		}
		outcome = w.put(a)
		w.history.stored(op, a, outcome)
	}
	fate, kept = w.plot.sent(a, fate, land)
	switch {
	case kept: // until its moment
	case fate.lands == 0:
		land()
	default:
		w.after(fate.lands, land)
	}
	wait := w.faults.delay("put", p.name)
	if fate.answer == 0 {
		wait = putTimeout
	}
	w.after(wait, func() {
		w.act(p, life, func() {
			said := w.interpret(p, a, fate, outcome)
			w.history.heard(op, said)
			w.answered(p, life, request, a, said, said == core.Unknown)
		})
	})
}

// interpret is what the gate makes of storage's answer: a yes is a yes, everything else is read back.
func (w *world) interpret(p *process, a *attempt, fate putFate, outcome core.Outcome) core.Outcome {
	if fate.answer == 200 && outcome == core.Applied {
		return core.Applied
	}
	switch {
	case out(conflictIsOurs) && outcome == core.NotApplied:
		return core.Applied
	case out(errorIsNotLanded) && fate.answer != 200:
		return core.NotApplied
	case out(silenceIsLanded) && fate.answer == 0:
		return core.Applied
	}
	t := w.lake.tables[a.target]
	if w.lake.down || t == nil || t.gone || w.faults.blind("head", p.name) {
		return core.Unknown
	}
	i := slices.IndexFunc(t.versions, func(v version) bool { return v.Version == a.body.Version })
	switch {
	case i >= 0 && t.versions[i].by == a.by():
		w.cover.rare("a put that was answered badly is read back as landed")
		return core.Applied
	case i >= 0:
		return core.NotApplied
	}
	return core.Unknown // absent now, and may land later
}

// by names a commit in the table's history.
func (a *attempt) by() string { return a.engine.name() }

// put is the storage's put-if-absent.
func (w *world) put(a *attempt) core.Outcome {
	t := w.lake.tables[a.target]
	if t == nil || t != a.table || t.gone || !t.publish(a.body, a.rows, a.by()) {
		w.say("lake", "%s: put v%d of %s refused: exists", a.target, a.body.Version, a.by())
		return core.NotApplied
	}
	w.say("lake", "%s: v%d by %s", a.target, a.body.Version, a.by())
	w.checks.landed(a)
	return core.Applied
}

// answered tells the machine and the engine what became of a put.
func (w *world) answered(p *process, life int, request core.RequestID, a *attempt, outcome core.Outcome, lost bool) {
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
	w.engineStep(en, 0, func() {
		switch {
		case status == 200 && !a.marks:
			en.rested = true
			w.plan(en) // the marks come next
		case status == 200:
			w.endEngine(en, core.Failure{})
		case status == 412 && en.exec.Kind.Maintains() && w.overtaken(a):
			w.cover.rare("a user's compaction meets " + string(en.exec.Kind))
			w.endEngine(en, core.Failure{Code: core.CodeCommitConflict, Detail: "Retryable commit conflict"})
		case status == 412 && en.tries >= 5:
			w.endEngine(en, core.Failure{Code: core.CodeBaseContended, Detail: "five commits in a row came first"})
		case status == 412 && en.strict(), status == 403 && en.strict() && w.moved(a), status == 403 && en.rested && en.tries < 9:
			en.rested = false // somebody lies between: the rows again
			w.plan(en)
		case status == 412:
			w.commit(en)
		case status == 503 && en.script.real && en.tries < 4:
			w.engineStep(en, time.Second, func() { w.commit(en) })
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

// hangUp drops what the gate still holds for an engine that is gone. What storage has is out of reach.
func (w *world) hangUp(en *engine) {
	if a := en.open; a != nil && !a.sent {
		en.open = nil
		delete(w.gate, a.request)
		w.deliver(en.proc, core.CommitDropped{Request: a.request, Target: en.exec.Target})
	}
}
