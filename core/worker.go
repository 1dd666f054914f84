package core

import (
	"cmp"
	"fmt"
)

// Worker is the machine of one worker: it runs the executions that masters reserve for it, decides for
// the gate which commits may proceed, enforces the time limits on its own executions, and settles them
// when they end. It is pure: see [Worker.Step].
type Worker struct {
	cfg  WorkerConfig
	out  outbox
	view *View
	// heard: a first snapshot has come, so that what is not in the view is not in the KV.
	heard bool
	jobs  map[Target]*job
	// awaits routes answers to the job that waits for them.
	awaits   map[EffectID]Target
	register registration
	twin     Instance // who was found registered under our name last
	load     advertisement
	selves   []*selfMerge       // tables that it writes, sorted
	orphans  map[Target]*orphan // self-merges of workers that are gone
	draining bool
}

// WorkerConfig is what a worker is told at its start and what stays so for its life.
type WorkerConfig struct {
	Endpoint Endpoint
	Instance Instance
	Address  string
	Slots    int   // executions at a time; 0 means 1
	Bytes    Bytes // of SSTables at a time; 0 means a whole pass in each slot
	Declares Declaration
	Limits   Limits
	Pass     PassLimits
	// Writes says which shards this worker writes, sorted by target: it merges them by itself while their
	// table is direct, and has them first while it is owned.
	Writes []Written
	Self   SelfMerge
	// Kinds are the maintenance that this worker can do, beside merges.
	Kinds []Kind
	// Graces are how long a cleanup keeps what is merged; the zero value is [DefaultGraces].
	Graces Graces
	// Unsafe says why the lake that this worker sees can't keep what the protocol builds on; then it runs
	// nothing.
	Unsafe string
}

// NewWorker makes a worker that knows nothing yet.
func NewWorker(cfg WorkerConfig) *Worker {
	cfg.Limits = cfg.Limits.withDefaults()
	cfg.Pass = cfg.Pass.withDefaults()
	cfg.Self = cfg.Self.withDefaults()
	cfg.Slots = max(1, cfg.Slots)
	cfg.Bytes = cmp.Or(cfg.Bytes, Bytes(cfg.Slots)*cfg.Pass.Size)
	if cfg.Graces == (Graces{}) {
		cfg.Graces = DefaultGraces
	}
	capabilities := []Capability{OwnedMerge}
	for _, k := range cfg.Kinds {
		capabilities = append(capabilities, k.capability())
	}
	w := &Worker{
		cfg: cfg, view: newWorkerView(), jobs: map[Target]*job{}, awaits: map[EffectID]Target{}, orphans: map[Target]*orphan{},
		register: registration{Key: WorkerKey(cfg.Endpoint), Value: Encode(WorkerRecord{
			Endpoint: cfg.Endpoint, Instance: cfg.Instance, Address: cfg.Address, Slots: cfg.Slots, Bytes: cfg.Bytes, Pass: cfg.Pass,
			Declares: cfg.Declares, Writes: cfg.Writes, Unsafe: cfg.Unsafe, Capabilities: capabilities,
		})},
	}
	for _, written := range cfg.Writes {
		w.selves = append(w.selves, &selfMerge{writes: written})
	}
	w.advertise()
	return w
}

// Step is the only mutator: it takes one event and returns what is to be done about it.
func (w *Worker) Step(at Moment, ev Event) []Effect {
	switch ev := ev.(type) {
	case Tick:
		w.tick(at)
	case Changed:
		w.changed(at, ev)
	case Committed, ReadDone, Surveyed, FenceDone, NumberDone, Drained, Deleted:
		w.answered(at, ev)
	case StartRequested:
		w.startRequested(at, ev)
	case CancelRequested:
		w.cancelRequested(at, ev)
	case StatusRequested:
		w.out.add(AnswerStatus{ev.Request, w.status(ev.Target, ev.Execution)})
	case CommitRequested:
		w.commitRequested(at, ev)
	case CommitSettled:
		w.commitSettled(at, ev)
	case CommitDropped:
		w.commitDropped(at, ev)
	case Worked:
		if j := w.job(ev.Target, ev.Execution); j != nil {
			j.progress.Counters.Writes += ev.Writes
			j.progress.Counters.Bytes += ev.Bytes
			w.progressed(at, j)
		}
	case EngineReported:
		w.engineReported(at, ev)
	case EnginePlanned:
		if j := w.job(ev.Target, ev.Execution); j != nil {
			first := j.attempt == Attempt{}
			j.attempt = ev.Attempt
			if first { // another try is not progress
				w.progressed(at, j)
			}
			w.out.add(LetGo{ev.Target, ev.Execution})
		}
	case EngineEnded:
		w.engineEnded(at, ev)
	case Flushed:
		for _, s := range w.selves {
			if s.writes.Target == ev.Target {
				s.look = alarmAt(at.Mono)
				w.selfEvaluate(at, s)
			}
		}
	case DrainRequested:
		w.draining = true
	default:
		panic(fmt.Sprintf("a worker takes no %T", ev))
	}
	w.advertise()
	return w.out.take()
}

// Next is when the worker wants a [Tick] at the latest.
func (w *Worker) Next() (MonoTime, bool) {
	next := earliest(w.register.alarm(), w.load.retry)
	next = earliest(next, soonest(w.jobs, func(j *job) alarm { return j.alarm(w.limits(j.exec.Target)) }))
	for _, s := range w.selves {
		next = earliest(next, w.selfAlarm(s))
	}
	next = earliest(next, soonest(w.orphans, (*orphan).alarm))
	return next.At, next.Set
}

// Busy counts the executions that the worker still has to do with.
func (w *Worker) Busy() int {
	n := 0
	for _, t := range sortedKeys(w.jobs) {
		if !w.jobs[t].stuck() {
			n++
		}
	}
	return n
}

// Mode is what this worker knows of a target's mode, for the gate's rules about clients.
func (w *Worker) Mode(t Target) Mode {
	if !w.heard || w.view.Target(t).Broken {
		return Draining // nobody knows: as strict as can be
	}
	m, _ := EffectiveMode(voices(w.view, t, ownWorker(w.view, w.cfg.Endpoint)))
	if said := w.cfg.Declares.Says(t); rank(said) > rank(m) {
		return said
	}
	return m
}

// Watched is the base version that the unreleased execution of a target saw at its start; ok is false
// if there is none, or none that has started.
func (w *Worker) Watched(t Target) (from Version, e ExecutionID, ok bool) {
	if j, mine := w.jobs[t]; mine && j.exec.BaseVersion > 0 {
		return j.exec.BaseVersion, j.exec.ID, true
	}
	tv, known := w.view.Targets[t]
	if !known || !tv.Execution.Present() || tv.Execution.Value.BaseVersion == 0 {
		return 0, "", false
	}
	return tv.Execution.Value.BaseVersion, tv.Execution.Value.ID, true
}

// job is the job that an event speaks of, or nil if it is over.
func (w *Worker) job(t Target, e ExecutionID) *job {
	if j, ok := w.jobs[t]; ok && j.exec.ID == e {
		return j
	}
	return nil
}

func (w *Worker) tick(at Moment) {
	w.register.tick(at, &w.out)
	w.load.tick(at)
	for _, t := range sortedKeys(w.jobs) {
		w.jobTick(at, w.jobs[t])
	}
	for _, t := range sortedKeys(w.orphans) {
		if o := w.orphans[t]; o.settle != nil {
			w.orphanSettle(at, t, o, Tick{})
		} else {
			w.orphaned(at, t)
		}
	}
	for _, s := range w.selvesInTurn() {
		w.selfEvaluate(at, s)
	}
}

func (w *Worker) changed(at Moment, ev Changed) {
	if ev.Reset {
		w.view, w.heard = newWorkerView(), true
	}
	news := w.view.Apply(ev.Revision, ev.Puts, ev.Deletes)
	w.register.changed(standing(w.view.Workers, w.register.Key), &w.out)
	w.noticeTwin()
	touched := news.Targets
	if ev.Reset {
		touched = sortedKeys(w.jobs) // what went away meanwhile is not among the changes
	}
	for _, t := range touched {
		if j, ok := w.jobs[t]; ok {
			w.recordChanged(at, j, w.view.Target(t).Execution)
		}
	}
	touched = news.Targets
	if ev.Reset || news.Processes { // a registration that came or went says who has lost a worker
		touched = w.view.order
	}
	for _, t := range touched {
		w.orphaned(at, t)
	}
	for _, s := range w.selvesInTurn() {
		s.retry = alarm{} // what it waited for may be there now
		w.selfEvaluate(at, s)
	}
}

// answered gives an answer to the job that waits for it; one that nobody waits for is stale.
func (w *Worker) answered(at Moment, ev Event) {
	id := answered(ev)
	if w.register.answered(at, ev) || w.load.answered(at, ev) {
		return
	}
	t, ok := w.awaits[id]
	if !ok {
		return
	}
	delete(w.awaits, id)
	if o, ok := w.orphans[t]; ok && o.settle != nil && o.settle.await == id {
		w.orphanSettle(at, t, o, ev)
		return
	}
	for _, s := range w.selves {
		if s.await == id {
			w.selfAnswered(at, s, ev)
			return
		}
	}
	if j, ok := w.jobs[t]; ok {
		w.jobAnswered(at, j, id, ev)
	}
}

// await routes the answer of an effect to the job.
func (w *Worker) await(j *job, id EffectID) EffectID {
	w.awaits[id] = j.exec.Target
	return id
}

// drop forgets a job that is over: nothing of it can be admitted by this process any more.
func (w *Worker) drop(j *job) {
	w.refuseHeld(j, RuleNotRunning, "the execution is over")
	if w.jobs[j.exec.Target] == j {
		delete(w.jobs, j.exec.Target)
	}
}

func (w *Worker) status(t Target, e ExecutionID) Status {
	j := w.job(t, e)
	if j == nil {
		return Status{}
	}
	return Status{Known: true, Phase: j.exec.Phase, Counters: j.progress.Counters}
}
