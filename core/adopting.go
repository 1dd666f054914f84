package core

import (
	"fmt"

	"github.com/sluice-data/sluice/guard"
)

// adoption is one run of the steps that bring a table under the protocol: choose its id in the KV, write
// it into the table, occupy latest + 1 of every shard, record that it is done. Every step can be made
// again by anybody.
type adoption struct {
	Request RequestID // who asked for it, if somebody did
	// Forced: a person asked for it; the table gets a new id whatever stands at its path.
	Forced  bool
	Begun   *TableRecord
	Version Version     // the version that carries the id
	Shards  []Watermark // still to be fenced
	Rounds  int
}

func (m *Master) adoptSurvey(tr *track) {
	m.wait(tr, trackAdopting, m.out.survey(tr.target))
}

// adopting takes the answer to the step under way.
func (m *Master) adopting(at Moment, tr *track, ev Event) {
	a := tr.adopt
	switch ev := ev.(type) {
	case Surveyed:
		m.adoptFrom(at, tr, ev)
	case FenceDone:
		if ev.Outcome == Unknown {
			if ev.Failure.OK() {
				ev.Failure = Failure{Code: CodeStorage, Detail: "nobody can tell whether the adoption was written; it is tried again"}
			}
			m.adoptFailed(at, tr, ev.Failure)
			return
		}
		if a.Version > 0 {
			// A shard: if a writer took the number instead, it is occupied just as well.
			a.Shards = a.Shards[1:]
			m.adoptShard(at, tr)
			return
		}
		m.adoptSurvey(tr) // the base: does it carry our id now?
	case Committed:
		m.adoptCommitted(at, tr, ev)
	}
}

// adoptFrom takes the next step from the table as it is.
func (m *Master) adoptFrom(at Moment, tr *track, ev Surveyed) {
	a := tr.adopt
	f := ev.Failure
	if f.OK() {
		f = Adoptable(ev.Table)
	}
	if a.Rounds++; f.OK() && a.Rounds > m.cfg.Limits.BarrierRounds {
		f = Failure{Code: CodeBaseContended, Detail: fmt.Sprintf("the id of %s could not be written in %d tries: its base is committed to all the time", tr.target, m.cfg.Limits.BarrierRounds)}
	}
	if !f.OK() {
		m.adoptFailed(at, tr, f)
		return
	}
	seen := m.view.Target(tr.target).Table
	switch {
	case a.Begun == nil && seen.Present() && seen.Value.Adopted == 0 && seen.Value.Scheme == ev.Table.Base.Scheme && !a.Forced:
		begun := seen.Value // somebody began it: the same id
		a.Begun = &begun
	case a.Begun == nil:
		rec, txn := BeginAdoption(seen, tr.target, TableID(at.Fresh), ev.Table.Base.Scheme, ev.Numbers)
		a.Begun = &rec
		m.wait(tr, trackAdopting, m.out.commit(txn))
		return
	}
	if id := ev.Table.Base.TableID; id != a.Begun.ID && (id == "" || !guard.Out(guard.AdoptionOverwritesID)) {
		id := m.out.id()
		m.wait(tr, trackAdopting, id)
		m.out.add(PutFence{ID: id, Target: tr.target, Resource: Base, Version: ev.Table.Base.Version + 1, TableID: a.Begun.ID, Scheme: a.Begun.Scheme, Adopt: true, Wall: at.Wall})
		return
	}
	a.Version = ev.Table.Base.Version
	a.Shards = AdoptionSteps(ev.Table)[1:]
	m.adoptShard(at, tr)
}

func (m *Master) adoptShard(at Moment, tr *track) {
	a := tr.adopt
	if len(a.Shards) == 0 {
		var waived []Seen[FailureRecord]
		if a.Forced {
			waived = m.view.Target(tr.target).Failures
		}
		m.wait(tr, trackAdopting, m.out.commit(EndAdoption(*a.Begun, tr.target, a.Version, waived...)))
		return
	}
	id := m.out.id()
	m.wait(tr, trackAdopting, id)
	m.out.add(PutFence{ID: id, Target: tr.target, Resource: a.Shards[0].Resource, Version: a.Shards[0].Version, TableID: a.Begun.ID, Scheme: a.Begun.Scheme, Adopt: true, Wall: at.Wall})
}

func (m *Master) adoptCommitted(at Moment, tr *track, ev Committed) {
	a := tr.adopt
	switch {
	case ev.Outcome == Applied && a.Version > 0:
		m.out.add(Note{Target: tr.target, Text: fmt.Sprintf("adopted as %s at v%d", a.Begun.ID, a.Version)})
		m.adoptAnswer(tr, AnswerMerge{After: a.Begun.LastExecution})
		tr.adopt = nil
		tr.retry = alarmAt(at.Mono.Add(retryEvery)) // the watch shows it earlier
	case ev.Outcome == Applied:
		m.adoptSurvey(tr)
	default:
		// Somebody else adopts it, or nobody knows: begin again from what the watch shows. Somebody who
		// asked is told, and asks again.
		m.adoptAnswer(tr, AnswerMerge{Failure: Failure{Code: CodeKV, Detail: "the table's record changed meanwhile, or the KV did not answer; try again"}})
		tr.adopt = nil
		tr.retry = alarmAt(at.Mono.Add(retryEvery))
	}
}

func (m *Master) adoptFailed(at Moment, tr *track, f Failure) {
	asked := tr.adopt.Request != 0
	m.adoptAnswer(tr, AnswerMerge{Failure: f})
	tr.adopt = nil
	if !asked {
		m.charge(at, tr, f)
	}
}

func (m *Master) adoptAnswer(tr *track, a AnswerMerge) {
	if tr.adopt.Request != 0 {
		a.Request = tr.adopt.Request
		m.out.add(a)
	}
}
