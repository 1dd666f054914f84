package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// How a worker cleans up. There is no engine: its machine does one step at a time and looks at the records and at
// the table again before each, so that an answer that was lost and a step that an earlier cleanup left look the
// same. A drain is a commit of its shard: admitted first, published as the next version, fenced by a recovery.

// cleanup is the work of one execution of that kind.
type cleanup struct {
	step    cleanStep
	await   EffectID
	flying  bool // something of it is on its way to storage
	planned bool // what can be reclaimed was written down
	reclaim Seen[Reclaim]
	deletes Seen[Deletes]
	graces  Graces
	batch   []Reclaimed
	sent    MonoTime // when the record of the batch was
	shard   ShardID  // whose drain is being admitted
	version Version
	rounds  int // since a drain landed
}

type cleanStep uint8

const (
	cleanReading cleanStep = iota
	cleanLooking
	cleanWriting
	cleanAdmitting
	cleanDraining
	cleanSending
	cleanDeleting
	cleanRecording
)

// maxDeletes bounds one batch of deletes, so that its record is small and its answers come soon.
const maxDeletes = 64

// clean goes on with a cleanup: it reads what there is to do.
func (w *Worker) clean(j *job) {
	t := j.exec.Target
	w.cleanWait(j, cleanReading, w.out.read(
		Range{Key: OwnerKey(t)}, Range{Key: ExecutionKey(t)}, Range{Key: AdmittedKey(t)}, Range{Key: ReclaimKey(t)}, Range{Key: DeletesKey(t)},
		Range{Key: PolicyKey(t)}))
}

func (w *Worker) cleanWait(j *job, step cleanStep, id EffectID) {
	j.cleanup.step, j.cleanup.await = step, w.await(j, id)
}

// cleanAnswered takes the answer to the step under way. After a cancel nothing more is begun.
func (w *Worker) cleanAnswered(at Moment, j *job, ev Event) {
	c := j.cleanup
	c.await = 0
	was := c.step
	if was == cleanDraining || was == cleanDeleting {
		c.flying = false
	}
	if j.end != nil || j.step != jobRunning {
		if ended, ok := ev.(Deleted); ok && !ended.Failure.OK() {
			j.indefinite = true // they may still land
		}
		if drained, ok := ev.(Drained); ok && drained.Outcome == Unknown {
			j.indefinite = true // only a look would tell, and there is none any more
		}
		w.maybeFinish(at, j)
		return
	}
	switch ev := ev.(type) {
	case ReadDone:
		w.cleanRead(at, j, ev)
	case Surveyed:
		w.cleanLooked(at, j, ev)
	case Drained:
		w.cleanDrained(at, j, ev)
	case Deleted:
		w.cleanDeleted(at, j, ev)
	case Committed:
		w.cleanCommitted(at, j, ev)
	}
}

func (w *Worker) cleanRead(at Moment, j *job, ev ReadDone) {
	if !ev.OK {
		w.cleanLater(at, j)
		return
	}
	v := ViewOf(ev.Revision, ev.Records)
	tv := v.Target(j.exec.Target)
	if tv.Execution.Raw != Encode(j.exec) || tv.Broken {
		w.cleanLater(at, j) // the watch will say that it is not ours any more
		return
	}
	if tv.Admitted.Value.Execution == j.exec.ID {
		j.watermarks = tv.Admitted.Value
	}
	j.cleanup.reclaim, j.cleanup.deletes = tv.Reclaim, tv.Deletes
	// How long what is merged is kept is read with the records: what the watch has shown may be older than what a
	// person was told is in force, and of a policy that can't be read nothing is concluded (invariant 10).
	j.cleanup.graces = tv.Policy.peek().Graces(w.cfg.Graces)
	w.cleanWait(j, cleanLooking, w.out.surveyDeep(j.exec.Target))
}

// cleanLater tries again from the start, but not without a pause.
func (w *Worker) cleanLater(at Moment, j *job) { j.retry = alarmAt(at.Mono.Add(retryEvery)) }

// cleanLooked decides the next step from the records and the table as they are now.
func (w *Worker) cleanLooked(at Moment, j *job, ev Surveyed) {
	c, t := j.cleanup, ev.Table
	f := ev.Failure
	if f.OK() {
		f = SameTable(j.exec, t)
	}
	if !f.OK() {
		w.cleanEnd(at, j, t, f)
		return
	}
	j.indefinite = j.outstanding(t)
	known, g := c.reclaim.Value, c.graces
	if !c.planned {
		c.planned = true
		next, more := reclaims(t, g, known)
		next = next.without(next.back(t, g))
		j.more = more
		if !slices.Equal(next.SSTables, known.SSTables) {
			w.cleanWait(j, cleanWriting, w.out.commit(WriteReclaim(j.exec, c.reclaim, next)))
			return
		}
	}
	if back := known.back(t, g); len(back) > 0 {
		w.cleanWait(j, cleanWriting, w.out.commit(WriteReclaim(j.exec, c.reclaim, known.without(back))))
		return
	}
	for _, s := range t.Shards {
		if listed := known.listed(s); len(listed) > 0 && !guard.Out(guard.DrainBeforeDelete) {
			w.drain(at, j, t, s, listed)
			return
		}
	}
	if gone := known.drained(t); len(gone) > 0 {
		c.batch, c.sent = gone[:min(len(gone), maxDeletes)], at.Mono
		w.cleanWait(j, cleanSending, w.out.commit(SendDeletes(j.exec, c.deletes, c.names(), at.Wall)))
		return
	}
	w.cleanEnd(at, j, t, Failure{})
}

func (c *cleanup) names() []string {
	out := make([]string, 0, len(c.batch))
	for _, r := range c.batch {
		out = append(out, r.name())
	}
	return out
}

// drain publishes the next manifest of a shard without what is reclaimed. Its version is admitted first.
func (w *Worker) drain(at Moment, j *job, t Table, s ShardManifest, gone []Reclaimed) {
	c := j.cleanup
	if c.rounds++; c.rounds > w.cfg.Limits.BarrierRounds {
		w.cleanEnd(at, j, t, Failure{Code: CodeBaseContended, Detail: fmt.Sprintf("the manifest of shard %s moved on each time it was to be drained", s.Shard)})
		return
	}
	c.shard, c.version = s.Shard, s.Version+1
	if r := ShardResource(s.Shard); j.watermarks.Of(r) < c.version && !guard.Out(guard.DrainIsAdmitted) {
		w.cleanWait(j, cleanAdmitting, w.out.commit(Admit(j.exec, j.watermarks, r, c.version)))
		return
	}
	c.flying = true
	id := w.out.id()
	w.cleanWait(j, cleanDraining, id)
	w.out.add(PutDrain{
		ID: id, Target: j.exec.Target, Shard: s.Shard, Version: c.version, TableID: j.exec.TableID, Execution: j.exec.ID, SSTables: gone,
	})
}

func (w *Worker) cleanDrained(at Moment, j *job, ev Drained) {
	if ev.Outcome == Applied {
		if !guard.Out(guard.EachDrainHasItsRounds) {
			j.cleanup.rounds = 0
		}
		w.out.note(j.exec, CodeOK, fmt.Sprintf("shard %s is drained at v%d", j.cleanup.shard, j.cleanup.version))
		w.progressed(at, j)
		w.clean(j)
		return
	}
	if ev.Outcome == Unknown {
		j.indefinite = true // until a look shows that its number is taken
	}
	w.cleanLater(at, j)
}

// cleanCommitted goes on when a transaction is applied; any other answer is resolved by the next read.
func (w *Worker) cleanCommitted(at Moment, j *job, ev Committed) {
	c := j.cleanup
	switch {
	case ev.Outcome != Applied:
		w.cleanLater(at, j)
	case c.step == cleanSending && at.Mono.Since(c.sent) > DeletesWait/2:
		// It slept. Whoever recovers has waited for these deletes long enough, and may have stopped waiting.
		w.cleanEnd(at, j, Table{}, Failure{Code: CodeKV, Detail: "the record of a batch of deletes took too long"})
	case c.step == cleanSending:
		c.deletes = Seen[Deletes]{Key: DeletesKey(j.exec.Target), Mod: ev.Revision, Raw: Encode(Deletes{j.exec.ID, c.names(), at.Wall})}
		c.flying = true
		id := w.out.id()
		w.cleanWait(j, cleanDeleting, id)
		w.out.add(DeleteFiles{ID: id, Target: j.exec.Target, TableID: j.exec.TableID, Names: c.names()})
	default:
		w.clean(j)
	}
}

func (w *Worker) cleanDeleted(at Moment, j *job, ev Deleted) {
	c := j.cleanup
	if !ev.Failure.OK() {
		// What was sent may still land, so only a recovery, which waits for it, can give the table back.
		j.indefinite = true
		w.cleanEnd(at, j, Table{}, ev.Failure)
		return
	}
	w.out.note(j.exec, CodeOK, fmt.Sprintf("%d SSTables are deleted", len(c.batch)))
	w.progressed(at, j)
	w.cleanWait(j, cleanRecording, w.out.commit(HaveDeleted(j.exec, c.deletes, c.reclaim, c.batch)))
}

// cleanEnd finishes. A drain whose number is not taken yet may still land.
func (w *Worker) cleanEnd(at Moment, j *job, t Table, f Failure) {
	j.indefinite = j.indefinite || j.outstanding(t)
	j.end = &f
	w.finish(at, j)
}

// outstanding reports whether a version that was admitted is not taken, as far as a look shows.
func (j *job) outstanding(t Table) bool {
	return slices.ContainsFunc(j.watermarks.Versions, func(m Watermark) bool { return t.Latest(m.Resource) < m.Version })
}

// Graces is what the policy says of how long what is merged is kept; p may be nil.
func (p *Policy) Graces(otherwise Graces) Graces {
	if p != nil && p.ReaderGraceSeconds != nil {
		otherwise.Reader = time.Duration(*p.ReaderGraceSeconds) * time.Second
	}
	if p != nil && p.RetentionSeconds != nil {
		otherwise.Retention = time.Duration(*p.RetentionSeconds) * time.Second
	}
	return otherwise
}
