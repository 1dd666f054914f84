package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// The barrier between Freeze and FinishRecovery. While some admitted version is free, a settlement looks at the table and
// occupies the next one; when none is, nothing of the execution can land any more (invariant 2).

// look reads the table again, before each fence.
func (s *settlement) look(o *outbox) {
	s.step = settleLooking
	s.await = o.survey(s.Target)
}

func (s *settlement) haveLooked(at Moment, ev Surveyed, o *outbox) {
	if len(s.watermarks) == 0 || guard.Out(guard.FailedLookIsFenced) && !ev.Failure.OK() || guard.Out(guard.RecoveredAtFreeze) {
		s.finishRecovery(at, o)
		return
	}
	if s.gone(ev.Failure) {
		s.finishRecovery(at, o) // no version of it can take effect where no table is
		return
	}
	if !ev.Failure.OK() {
		s.fail(at, ev.Failure, o)
		return
	}
	exec := s.exec
	if s.Forced {
		exec.TableID, exec.Scheme, exec.BaseVersion = ev.Table.Base.TableID, ev.Table.Base.Scheme, 0
	}
	for _, w := range s.watermarks {
		if s.Forced && w.Resource != Base && ev.Table.Latest(w.Resource) == 0 && !guard.Out(guard.LostShardIsOver) {
			continue // a person has said that the table is the right one, and it has no such shard: none can be fenced
		}
		s.found(w, ev.Table.Latest(w.Resource))
		next, done, f := NextFence(exec, ev.Table, w)
		switch {
		case !f.OK():
			s.fail(at, f, o)
			return
		case done || guard.Out(guard.FenceToWatermark):
			continue
		}
		s.rounds++
		// As many rounds as there are versions to occupy, and some for those that others take meanwhile.
		if s.rounds > s.Limits.BarrierRounds+s.gap(w) || at.Mono.Since(s.began) > s.Limits.Barrier {
			s.fail(at, Failure{Code: CodeStorage, Detail: fmt.Sprintf("%s stands below the admitted version %d after %d rounds", w.Resource, w.Version, s.rounds-1)}, o)
			return
		}
		o.note(s.exec, CodeOK, fmt.Sprintf("%s is v%d, admitted v%d: fence v%d", w.Resource, ev.Table.Latest(w.Resource), w.Version, next))
		s.step = settleFencing
		s.await = o.id()
		o.add(PutFence{ID: s.await, Target: s.Target, Resource: w.Resource, Version: next, TableID: exec.TableID, Scheme: exec.Scheme, Execution: s.ID, Wall: at.Wall})
		return
	}
	s.finishRecovery(at, o)
}

// found remembers where a resource stood when it was looked at first.
func (s *settlement) found(w Watermark, latest Version) {
	if !slices.ContainsFunc(s.fenced, func(f Fenced) bool { return f.Resource == w.Resource }) {
		s.fenced = append(s.fenced, Fenced{w.Resource, w.Version, latest})
	}
}

// gap is how many versions of a resource were free when it was looked at first.
func (s *settlement) gap(w Watermark) int {
	for _, f := range s.fenced {
		if f.Resource == w.Resource {
			return int(f.Fences())
		}
	}
	return 0
}

func (s *settlement) finishRecovery(at Moment, o *outbox) {
	if s.deletes.Present() && !guard.Out(guard.DeletesAreWaitedFor) {
		// The age is measured from our own first sight of the batch.
		if !s.deletesAge.Set {
			s.deletesAge = alarmAt(at.Mono.Add(DeletesWait))
		}
		if !s.deletesAge.due(at.Mono) {
			s.retryAt(at, time.Minute)
			return
		}
	}
	_, txn := FinishRecovery(s.exec, s.fenced, s.deletes.Unchanged())
	s.step = settleFinishing
	s.await = o.commit(txn)
}
