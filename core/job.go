package core

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// job is what a worker knows of one execution that it was asked to run. All of it is volatile: a worker
// that restarts has no jobs, and answers "unknown" when it is asked about one.
type job struct {
	exec  Execution
	step  jobStep
	await EffectID
	retry alarm
	// unsent: nothing came of the transaction; it is sent again, but not without a pause, since a KV that takes
	// no writes may well be read.
	unsent bool
	pass   Pass
	table  Table
	bad    Failure  // a shard that the pass had to leave out
	end    *Failure // why it ends; nil while nothing speaks against it
	// seen: the watch has shown our record, so that its absence means something.
	seen bool

	// The engine and the limits.
	engineUp   bool
	attempt    Attempt // what the engine declared last
	started    MonoTime
	progressAt MonoTime
	grace      alarm // set when it was told to end

	// Progress.
	progress      Progress
	progressAwait EffectID
	progressWrote MonoTime
	allowance     int64 // that was written

	// Commits: see commit.go.
	watermarks Watermarks
	held       []heldCommit
	admitAwait EffectID
	admitRetry alarm
	admitLost  bool    // nobody knows what became of the last Admit
	asked      Version // the version whose admission is being asked
	refusal    Verdict // the last one since a commit landed: it explains an engine that fails after it
	inStorage  []storedCommit
	landed     []Version
	indefinite bool
	settlement *settlement

	// Maintenance.
	cleanup  *cleanup
	more     bool     // it leaves something for another execution
	repeated bool     // its engine was started a second time
	again    EffectID // a look for what came between
}

type jobStep uint8

const (
	jobSurveying jobStep = iota
	jobNumbering
	jobStarting
	jobConfirming // a Start whose answer was lost: what does the record say?
	jobRunning
	jobFinishing
	jobChecking // a Finish whose answer was lost
	jobSettling
)

// startRequested takes an execution that was reserved for this worker. Asking again for the same one is
// answered the same, however often and late it comes.
func (w *Worker) startRequested(at Moment, ev StartRequested) {
	e := ev.Execution
	j, busy := w.jobs[e.Target]
	room := w.refuses(e)
	switch {
	case busy && j.exec.ID == e.ID:
		w.out.add(AnswerStart{Request: ev.Request})
		return
	case e.Endpoint != w.cfg.Endpoint || e.Kind == KindSelf || e.Phase != Reserved || !w.register.live:
		w.out.add(AnswerStart{ev.Request, ReasonNoWorker})
		return
	case busy:
		w.out.add(AnswerStart{ev.Request, ReasonNoSlot})
		return
	case room != ReasonNone:
		w.out.add(AnswerStart{ev.Request, room})
		return
	}
	w.out.add(AnswerStart{Request: ev.Request})
	w.take(at, e)
}

// take begins a job with a look at its table.
func (w *Worker) take(at Moment, e Execution) {
	j := &job{exec: e, progressAt: at.Mono, progress: Progress{Execution: e.ID}}
	j.exec.Nonce = at.Fresh
	w.jobs[e.Target] = j
	j.await = w.await(j, w.out.survey(e.Target))
}

// jobAnswered takes an answer that this job waits for.
func (w *Worker) jobAnswered(at Moment, j *job, id EffectID, ev Event) {
	switch {
	case j.settlement != nil && id == j.settlement.await:
		w.settle(at, j, ev)
		return
	case id == j.admitAwait:
		w.admitAnswered(at, j, ev)
		return
	case id == j.progressAwait:
		j.progressAwait = 0 // an applied one was worth it, a lost one is overtaken by the next
		return
	case j.cleanup != nil && id == j.cleanup.await:
		w.cleanAnswered(at, j, ev)
		return
	case id == j.again:
		w.seenAgain(at, j, ev.(Surveyed))
		return
	case id != j.await:
		return
	}
	j.await = 0
	switch ev := ev.(type) {
	case Surveyed:
		w.surveyed(at, j, ev)
	case NumberDone:
		if ev.Taken != "" && ev.Taken != j.exec.ID {
			ev.Failure = Failure{Code: CodeLakeChanged, Detail: fmt.Sprintf("number %d of %s belongs to execution %s in this lake: a second KV, or a restored one, ran here; run `sluice adopt %s`", j.exec.Number, j.exec.Target, ev.Taken, j.exec.Target)}
		}
		w.start(at, j, ev.Failure)
	case Committed:
		w.stepCommitted(at, j, ev)
	case ReadDone:
		w.stepRead(at, j, ev)
	}
}

// surveyed plans the pass from the table as it is now.
func (w *Worker) surveyed(at Moment, j *job, ev Surveyed) {
	f := ev.Failure
	if f.OK() {
		f = SameIdentity(j.exec.TableID, j.exec.Scheme, ev.Table.Base)
	}
	if f.OK() {
		f = Adoptable(ev.Table)
	}
	if seen := w.view.Target(j.exec.Target).Table.Value.LastSeen; f.OK() && ev.Table.Base.Version < seen {
		f = wentBack(j.exec.Target, ev.Table.Base.Version, seen)
	}
	if !f.OK() {
		w.start(at, j, f)
		return
	}
	j.table = ev.Table
	if !j.exec.Kind.Maintains() {
		j.pass, j.bad = PlanPass(ev.Table, j.exec.Shards, w.passes(j.exec.Target).Within(j.exec.Bytes).Turn(j.exec.Number))
	}
	if j.idle() {
		w.start(at, j, j.bad)
		return
	}
	// The number goes into the lake before the first Admit can be asked: a second history of this
	// table meets it there and stops (attack kv-restored).
	j.step = jobNumbering
	j.await = w.await(j, w.out.id())
	w.out.add(PutNumber{ID: j.await, Target: j.exec.Target, Number: j.exec.Number, Execution: j.exec.ID})
}

// start records the execution as running here. One that can't work is started too, without a plan, so
// that its end is recorded like any other.
func (w *Worker) start(at Moment, j *job, f Failure) {
	if !f.OK() {
		j.end, j.pass = &f, Pass{}
	}
	reserved := j.exec
	reserved.Nonce = ""
	j.exec = Started(reserved, w.cfg.Instance, j.exec.Nonce, j.table.Base.Version, j.table.Base.Marks, j.pass.Plan, at.Wall)
	j.watermarks = Watermarks{Execution: j.exec.ID}
	w.sendStart(j, reserved)
}

func (w *Worker) sendStart(j *job, reserved Execution) {
	j.step = jobStarting
	j.await = w.await(j, w.out.commit(Start(reserved, j.exec)))
}

// reservedForm is the record that Start replaces.
func (j *job) reservedForm() Execution {
	e := j.exec
	e.Phase, e.Instance, e.Nonce = Reserved, "", ""
	e.BaseVersion, e.Marks, e.Plan, e.Started = 0, nil, nil, 0
	return e
}

// run begins the work: the execution's clock starts here.
func (w *Worker) run(at Moment, j *job) {
	j.step, j.started, j.progressAt = jobRunning, at.Mono, at.Mono
	if guard.Out(guard.DeadlineFromReservation) {
		j.started = at.Mono.Add(-time.Duration(at.Wall-j.exec.Reserved) * time.Millisecond)
	}
	if j.end != nil || j.idle() {
		w.finish(at, j)
		return
	}
	w.out.note(j.exec, CodeOK, fmt.Sprintf("execution %d runs: %s on base v%d", j.exec.Number, j.describe(), j.exec.BaseVersion))
	if j.exec.Kind == KindCleanup {
		j.cleanup = &cleanup{}
		w.clean(j)
		return
	}
	j.engineUp = true
	w.out.add(StartEngine{Execution: j.exec, Inputs: j.pass.Inputs})
}

func (j *job) describe() string {
	if j.exec.Kind.Maintains() {
		return string(j.exec.Kind)
	}
	return fmt.Sprintf("%d generations of %d shards", Execution{Plan: j.pass.Plan}.generations(), len(j.pass.Plan))
}

// stepCommitted takes the answer to Start or Finish.
func (w *Worker) stepCommitted(at Moment, j *job, ev Committed) {
	switch {
	case j.step == jobStarting && ev.Outcome == Applied:
		w.run(at, j)
	case j.step == jobStarting:
		w.readRecord(j, jobConfirming)
	case j.step == jobFinishing && ev.Outcome == Applied:
		w.settleOwn(at, j, Failure{})
	case j.step == jobFinishing:
		w.readRecord(j, jobChecking)
	}
}

func (w *Worker) readRecord(j *job, step jobStep) {
	j.step = step
	j.await = w.await(j, w.out.read(Range{Key: OwnerKey(j.exec.Target)}, Range{Key: ExecutionKey(j.exec.Target)}))
}

// stepRead resolves an unknown Start or Finish by what the record says.
func (w *Worker) stepRead(at Moment, j *job, ev ReadDone) {
	if !ev.OK {
		j.retry = alarmAt(at.Mono.Add(time.Second))
		return
	}
	record := ViewOf(ev.Revision, ev.Records).Target(j.exec.Target).Execution
	mine := record.Present() && record.Value.ID == j.exec.ID
	switch {
	case mine && j.step == jobConfirming && record.Raw == Encode(j.exec):
		w.run(at, j)
	case mine && j.step == jobConfirming && record.Value.Phase == Reserved:
		j.unsent, j.retry = true, alarmAt(at.Mono.Add(retryEvery))
	case mine && j.step == jobChecking && record.Value.Phase == Running:
		j.unsent, j.retry = true, alarmAt(at.Mono.Add(retryEvery))
	case mine && j.step == jobChecking:
		w.settleOwn(at, j, Failure{})
	default:
		w.out.note(j.exec, CodeOK, fmt.Sprintf("execution %d is not ours any more", j.exec.Number))
		w.stop(j)
		w.drop(j)
	}
}

// recordChanged notices when somebody else has frozen or released the execution.
func (w *Worker) recordChanged(at Moment, j *job, record Seen[Execution]) {
	if record.Present() && record.Value.ID == j.exec.ID {
		j.seen = true
		if record.Value.Phase != Recovering && record.Value.Phase != Recovered {
			return
		}
	} else if !j.seen {
		return // the change before ours
	}
	if j.settlement != nil {
		if !record.Present() || record.Value.ID != j.exec.ID {
			w.drop(j) // somebody else has released it: a settlement that waits must not keep the slot
		}
		return // otherwise it reads by itself
	}
	w.out.note(j.exec, CodeOK, fmt.Sprintf("execution %d is not ours any more: engine stopped", j.exec.Number))
	w.stop(j)
	w.drop(j)
}

// stop revokes the credentials and ends the engine.
func (w *Worker) stop(j *job) {
	w.out.add(StopEngine{j.exec.Target, j.exec.ID})
}
