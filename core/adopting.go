package core

import (
	"cmp"
	"fmt"

	"github.com/sluice-data/sluice/guard"
)

// adoption is one run of the steps that bring a table under the protocol: choose its id in the KV, write
// it into the table, occupy latest + 1 of every shard, record that it is done. Every step can be made
// again by anybody; masters run it for owned tables, workers for those that they merge themselves.
type adoption struct {
	Target Target
	Rounds int // tries to write the id, at most
	// Forced: a person asked for it; the table gets a new id whatever stands at its path.
	Forced bool
	// Gone: that person says that the table is gone for good; nothing is adopted, its ownership is ended.
	Gone    bool
	Request RequestID // who asked for it, if somebody did

	await   EffectID
	above   Version // the base as it was looked at, before the KV confirms that the id is still ours to write
	begun   *TableRecord
	version Version     // the version that carries the id
	shards  []Watermark // still to be fenced
	round   int
}

// adoptResult is what came of an adoption.
type adoptResult uint8

const (
	adopting   adoptResult = iota
	adopted                // recorded as done
	overtaken              // the table's record has changed meanwhile, or nobody knows: begin again from what the watch shows
	notAdopted             // the failure says why
)

func (a *adoption) survey(o *outbox) { a.await = o.survey(a.Target) }

// handle takes the answer to the step under way; tv is what is known of the table's records.
func (a *adoption) handle(at Moment, ev Event, tv *TargetView, o *outbox) (adoptResult, Failure) {
	a.await = 0
	switch ev := ev.(type) {
	case Surveyed:
		return a.from(at, ev, tv, o)
	case ReadDone:
		if record := ViewOf(ev.Revision, ev.Records).Target(a.Target).Table.Raw; (!ev.OK || record != Encode(*a.begun)) && !guard.Out(guard.AdoptionConfirmed) {
			return overtaken, Failure{}
		}
		a.occupy(at, Watermark{Base, a.above + 1}, o)
	case FenceDone:
		if ev.Outcome == Unknown {
			if ev.Failure.OK() {
				ev.Failure = Failure{Code: CodeStorage, Detail: "nobody can tell whether the adoption was written; it is tried again"}
			}
			return notAdopted, ev.Failure
		}
		if a.version > 0 {
			// A shard: if a writer took the number instead, it is occupied just as well.
			a.shards = a.shards[1:]
			a.next(at, tv, o)
		} else {
			a.survey(o) // the base: does it carry our id now?
		}
	case Committed:
		switch {
		case ev.Outcome != Applied:
			return overtaken, Failure{}
		case a.version > 0:
			o.add(Note{Target: a.Target, Text: fmt.Sprintf("adopted as %s at v%d", a.begun.ID, a.version)})
			return adopted, Failure{}
		}
		a.survey(o)
	}
	return adopting, Failure{}
}

// from takes the next step from the table as it is.
func (a *adoption) from(at Moment, ev Surveyed, tv *TargetView, o *outbox) (adoptResult, Failure) {
	f := ev.Failure
	if f.OK() {
		f = Adoptable(ev.Table)
	}
	if f.OK() {
		f = ev.Table.torn() // what is in flight there could not be fenced
	}
	if a.round++; f.OK() && a.round > a.Rounds {
		f = Failure{Code: CodeBaseContended, Detail: fmt.Sprintf("the id of %s could not be written in %d tries: its base is committed to all the time", a.Target, a.Rounds)}
	}
	if !f.OK() {
		return notAdopted, f
	}
	seen := tv.Table
	switch {
	case tv.Broken:
		return notAdopted, Failure{Code: CodeKV, Detail: fmt.Sprintf("a record of %s can't be read; it was written by a newer Sluice", a.Target)}
	case a.begun == nil && seen.Present() && seen.Value.Adopted == 0 && seen.Value.Scheme == ev.Table.Base.Scheme && !a.Forced:
		begun := seen.Value // somebody began it: the same id
		a.begun = &begun
	case a.begun == nil:
		rec, txn := BeginAdoption(seen, a.Target, TableID(at.Fresh), ev.Table.Base.Scheme, ev.Numbers)
		a.begun = &rec
		a.await = o.commit(txn)
		return adopting, Failure{}
	}
	if id := ev.Table.Base.TableID; id != a.begun.ID && (id == "" || !guard.Out(guard.AdoptionOverwritesID)) {
		// Somebody may have begun to adopt the table anew with another id, a person above all, and may even
		// have written it: then ours would be the wrong one. Nobody can have from here on without taking
		// the version that ours is to be, so asking after the look is enough.
		a.above = ev.Table.Base.Version
		a.await = o.read(Range{Key: TableKey(a.Target)})
		return adopting, Failure{}
	}
	a.version = ev.Table.Base.Version
	a.shards = AdoptionSteps(ev.Table)[1:]
	a.next(at, tv, o)
	return adopting, Failure{}
}

// next occupies the next shard, or records that all are.
func (a *adoption) next(at Moment, tv *TargetView, o *outbox) {
	if len(a.shards) > 0 {
		a.occupy(at, a.shards[0], o)
		return
	}
	var waived []Seen[FailureRecord]
	if a.Forced {
		waived = tv.Failures
	}
	a.await = o.commit(EndAdoption(*a.begun, a.Target, a.version, waived...))
}

func (a *adoption) occupy(at Moment, w Watermark, o *outbox) {
	a.await = o.id()
	o.add(PutFence{ID: a.await, Target: a.Target, Resource: w.Resource, Version: w.Version, TableID: a.begun.ID, Scheme: a.begun.Scheme, Adopt: true, Wall: at.Wall})
}

// adopting goes on with the adoption that a master has under way.
func (m *Master) adopting(at Moment, tr *track, ev Event) {
	a := tr.adopt
	if look, ok := ev.(Surveyed); ok && a.Gone {
		answer := AnswerMerge{After: m.view.Target(tr.target).Table.Value.LastExecution}
		if look.Failure.Code != CodeTableMissing {
			answer.Failure = cmp.Or(look.Failure, Failure{Code: CodeTableReplaced, Detail: fmt.Sprintf("%s is not gone: a table stands at its path; adopt that one instead", tr.target)})
		}
		m.adoptAnswer(tr, answer)
		tr.adopt = nil
		return
	}
	result, f := a.handle(at, ev, m.view.Target(tr.target), &m.out)
	switch result {
	case adopting:
		m.wait(tr, trackAdopting, a.await)
	case adopted:
		m.adoptAnswer(tr, AnswerMerge{After: a.begun.LastExecution})
		tr.adopt = nil
		tr.retry = alarmAt(at.Mono.Add(retryEvery)) // the watch shows it earlier
	case overtaken:
		// Somebody who asked is told, and asks again.
		m.adoptAnswer(tr, AnswerMerge{Failure: Failure{Code: CodeKV, Detail: "the table's record changed meanwhile, or the KV did not answer; try again"}})
		tr.adopt = nil
		tr.retry = alarmAt(at.Mono.Add(retryEvery))
	case notAdopted:
		asked := a.Request != 0
		m.adoptAnswer(tr, AnswerMerge{Failure: f})
		tr.adopt = nil
		if !asked && m.sees(at, tr, f) {
			m.charge(at, tr, f)
		}
	}
}

func (m *Master) adoptAnswer(tr *track, a AnswerMerge) {
	if tr.adopt.Request != 0 {
		a.Request = tr.adopt.Request
		m.out.add(a)
	}
}
