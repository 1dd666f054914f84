package sim

import (
	"fmt"

	"github.com/sluice-data/sluice/core"
)

// perform carries out one effect of a process, as the driver would.
func (w *world) perform(p *process, e core.Effect) {
	switch e := e.(type) {
	case core.Commit:
		if e.Txn.Name == p.holding {
			p.held = append(p.held, func() { w.perform(p, e) })
			return
		}
		w.asks(p, e)
	case core.Read:
		w.askKV(p, e)
	case core.Survey:
		w.survey(p, e)
	case core.PutFence:
		w.putFence(p, e)
	case core.PutDrain:
		w.putDrain(p, e)
	case core.DeleteFiles:
		w.deleteFiles(p, e)
	case core.PutNumber:
		w.ask(p, request{kind: "lake", what: "number"}, func() core.Event {
			taken, f := w.lake.number(e.Target, core.Number{N: e.Number, Execution: e.Execution})
			return core.NumberDone{Effect: e.ID, Taken: taken, Failure: f}
		}, core.NumberDone{Effect: e.ID, Failure: lakeSilent})
	case core.SendStart:
		w.call(p, "start", e.Address, e.ID, core.StartRequested{Request: w.newRequest(), Execution: e.Execution})
	case core.SendCancel:
		w.call(p, "cancel", e.Address, e.ID, core.CancelRequested{Request: w.newRequest(), Target: e.Target, Execution: e.Execution, Why: e.Why})
	case core.SendProbe:
		w.call(p, "probe", e.Address, e.ID, core.StatusRequested{Request: w.newRequest(), Target: e.Target, Execution: e.Execution})
	case core.AnswerStart:
		w.cover.refused(e.Refused)
		w.replied(p, e.Request, core.Replied{OK: true, Refused: e.Refused})
	case core.AnswerStatus:
		w.replied(p, e.Request, core.Replied{OK: true, Status: e.Status})
	case core.StartEngine:
		w.startEngine(p, e)
	case core.LetGo:
		w.letGo(p, e)
	case core.StopEngine:
		w.stopEngine(p, e)
	case core.AnswerCommit:
		w.gateAnswered(p, e)
	case core.AnswerMerge:
		w.cover.refused(e.Refused)
		if !w.quietly {
			w.say(p.name, "%s", e)
		}
	case core.AnswerOperator:
		w.cover.refused(e.Refused)
		if !w.quietly {
			w.say(p.name, "%s", e)
		}
	case core.Note:
		if !w.quietly {
			w.say(p.name, "%s", e)
		}
	default:
		panic(fmt.Sprintf("no driver for %T", e))
	}
}

var lakeSilent = core.Failure{Code: core.CodeStorage, Detail: "no answer from the lake"}

// survey reads a table for a process. A look that fails is a failure, whatever it may have seen; a stale
// one shows what was there a few versions ago.
func (w *world) survey(p *process, e core.Survey) {
	silence := core.Surveyed{Effect: e.ID, Failure: lakeSilent}
	w.ask(p, request{kind: "lake", what: "survey"}, func() core.Event {
		if w.faults.blind("survey", p.name) {
			if out(failedIsAbsent) {
				return core.Surveyed{Effect: e.ID, Table: core.Table{Target: e.Target}, Failure: core.Failure{Code: core.CodeTableMissing, Detail: "there is no table"}}
			}
			return silence
		}
		behind := w.faults.stale("survey", p.name)
		t, numbers, f := w.lake.survey(e.Target, behind, e.Deep)
		if f.OK() && behind == 0 {
			w.history.saw(p, e.Target, w.lake.tables[e.Target].head())
		}
		return core.Surveyed{Effect: e.ID, Table: t, Numbers: numbers, Failure: f}
	}, silence)
}

func (w *world) putFence(p *process, e core.PutFence) {
	if w.plot.fencing(p, e) {
		return
	}
	w.recovers(p, e)
	w.ask(p, request{kind: "lake", what: "fence"}, func() core.Event {
		w.checks.fencing(e)
		outcome, f := w.lake.fence(e)
		w.fences(p, e, outcome)
		return core.FenceDone{Effect: e.ID, Outcome: outcome, Failure: f}
	}, core.FenceDone{Effect: e.ID, Failure: lakeSilent})
}
