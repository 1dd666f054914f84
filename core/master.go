package core

import (
	"fmt"
)

// Master is the machine of one master. Any number of them work side by side without a leader: each of
// them sees the same records, and every claim is a compare-and-swap. It looks at owned tables, posts
// demand, adopts and reserves, watches executions from outside, and settles those whose worker doesn't.
type Master struct {
	cfg      MasterConfig
	out      outbox
	view     *View
	tracks   map[Target]*track
	order    []Target // of tracks, sorted
	awaits   map[EffectID]Target
	wishes   map[EffectID]*wish // of operators, by what they wait for
	register registration
	ready    bool // the first snapshot has come
}

// MasterConfig is what a master is told at its start and what stays so for its life.
type MasterConfig struct {
	ID       string
	Instance Instance
	Address  string
	Declares Declaration
	Limits   Limits
	// Trigger says what is worth a merge where a table's policy says nothing; the zero value is one SSTable.
	Trigger Trigger
	// Graces are how long a cleanup keeps what is merged; the zero value is [DefaultGraces].
	Graces Graces
}

// NewMaster makes a master that knows nothing yet.
func NewMaster(cfg MasterConfig) *Master {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Trigger == (Trigger{}) {
		cfg.Trigger = Trigger{Generations: 1}
	}
	if cfg.Graces == (Graces{}) {
		cfg.Graces = DefaultGraces
	}
	return &Master{
		cfg: cfg, view: NewView(), tracks: map[Target]*track{}, awaits: map[EffectID]Target{}, wishes: map[EffectID]*wish{},
		register: registration{Key: MasterKey(cfg.ID), Value: Encode(MasterRecord{
			ID: cfg.ID, Instance: cfg.Instance, Address: cfg.Address, Declares: cfg.Declares,
			Capabilities: []Capability{OwnedMerge},
		})},
	}
}

// Step is the only mutator: it takes one event and returns what is to be done about it.
func (m *Master) Step(at Moment, ev Event) []Effect {
	switch ev := ev.(type) {
	case Tick:
		m.register.tick(at, &m.out)
		for _, t := range m.order {
			if tr := m.tracks[t]; tr.alarm().due(at.Mono) {
				m.trackTick(at, tr)
			}
		}
	case Changed:
		m.changed(at, ev)
	case Committed, ReadDone, Surveyed, FenceDone, Replied:
		m.answered(at, ev)
	case MergeRequested:
		tr := m.track(ev.Target)
		tr.requests = append(tr.requests, request{ev.Request, ev.Kind})
		if ev.Now {
			tr.now, tr.rushed, tr.hasty = true, map[Endpoint]bool{}, nil
		}
		m.evaluate(at, tr)
	case AdoptRequested:
		tr := m.track(ev.Target)
		if tr.adopt != nil {
			m.out.add(AnswerMerge{Request: ev.Request, Refused: ReasonRecovering})
			break
		}
		tr.adopt = m.adoption(ev.Target)
		tr.adopt.Request, tr.adopt.Forced, tr.adopt.Gone = ev.Request, true, ev.Gone
		if tr.settle != nil {
			// A recovery that waits for this very word goes on at once.
			tr.settle.force(ev.Gone, &m.out)
			m.awaits[tr.settle.await] = tr.target
		}
		m.evaluate(at, tr)
	case ModeRequested:
		m.grant(ev.Request, ev.Target, ev)
	case PolicyRequested:
		m.grant(ev.Request, ev.Target, ev)
	case ForgetRequested:
		m.grant(ev.Request, ev.Target, ev)
	default:
		panic(fmt.Sprintf("a master takes no %T", ev))
	}
	return m.out.take()
}

// Next is when the master wants a [Tick] at the latest.
func (m *Master) Next() (MonoTime, bool) {
	next := earliest(m.register.alarm(), soonest(m.tracks, (*track).alarm))
	return next.At, next.Set
}

func (m *Master) track(t Target) *track {
	tr, ok := m.tracks[t]
	if !ok {
		tr = &track{target: t, short: map[Endpoint]shortage{}, rushed: map[Endpoint]bool{}, busy: map[Endpoint]alarm{}, yielding: map[Endpoint]alarm{}}
		m.tracks[t] = tr
		m.order = insertSorted(m.order, t)
	}
	return tr
}

func (m *Master) adoption(t Target) *adoption {
	return &adoption{Target: t, Rounds: m.cfg.Limits.BarrierRounds}
}

func (m *Master) changed(at Moment, ev Changed) {
	if ev.Reset {
		m.view = NewView()
	}
	news := m.view.Apply(ev.Revision, ev.Puts, ev.Deletes)
	m.register.changed(standing(m.view.Masters, m.register.Key), &m.out)
	if !m.ready {
		m.ready = true
		for _, t := range append(append([]Target(nil), m.cfg.Declares.Owned...), m.cfg.Declares.Draining...) {
			m.track(t)
		}
	}
	for _, t := range news.Targets {
		tr := m.track(t)
		tr.retry = alarm{} // what it waited for may be there now
		tr.sights = tr.sights.seeing(at, m.view.Target(t).Failures)
		tr.waiting(at, m.view.Target(t))
		tr.hurried(m.view.Target(t))
	}
	for _, t := range m.concerned(news, ev.Reset) {
		m.evaluate(at, m.tracks[t])
	}
}

func (m *Master) answered(at Moment, ev Event) {
	if m.register.answered(at, ev) {
		return
	}
	id := answered(ev)
	if w, ok := m.wishes[id]; ok {
		delete(m.wishes, id)
		m.granting(at, w, ev)
		return
	}
	t, ok := m.awaits[id]
	if !ok {
		return
	}
	delete(m.awaits, id)
	tr := m.tracks[t]
	if tr.settle != nil && id == tr.settle.await {
		m.settling(at, tr, ev)
		return
	}
	if id != tr.await {
		return
	}
	tr.await = 0
	step := tr.step
	tr.step = trackIdle
	switch step {
	case trackLooking:
		m.looked(at, tr, ev.(Surveyed))
	case trackPosting:
		m.posted(at, tr, ev.(Committed))
	case trackClaiming:
		m.claimSurveyed(at, tr, ev.(Surveyed))
	case trackConfirming:
		m.confirmed(at, tr, ev.(ReadDone))
	case trackReserving:
		m.reserved(at, tr, ev.(Committed))
	case trackAdopting:
		m.adopting(at, tr, ev)
	case trackSending:
		m.replied(at, tr, ev.(Replied))
	case trackWriting:
		tr.retry = alarmAt(at.Mono.Add(retryEvery)) // the watch shows it earlier
	}
	m.evaluate(at, tr)
}

// wait makes the track wait for the answer of an effect.
func (m *Master) wait(tr *track, step trackStep, id EffectID) {
	tr.step, tr.await = step, id
	m.awaits[id] = tr.target
}

func (m *Master) trackTick(at Moment, tr *track) {
	if tr.settle != nil {
		m.settling(at, tr, Tick{})
		return
	}
	m.evaluate(at, tr)
}

// evaluate looks for the next thing to do about a target. It does nothing while something is under way.
func (m *Master) evaluate(at Moment, tr *track) {
	if tr.retry.due(at.Mono) {
		tr.retry = alarm{}
	}
	if !m.ready || tr.step != trackIdle || tr.retry.Set {
		return
	}
	if tr.settle != nil {
		if len(tr.requests) > 0 { // a recovery may take long; who asks is answered all the same
			m.look(at, tr)
		}
		return
	}
	tv := m.view.Target(tr.target)
	switch {
	case tv.Broken:
		tr.because(at, m.situation(at, tr, tv).Reason())
		tr.retry = alarmAt(at.Mono.Add(m.cfg.Limits.Poll))
		m.answerAll(tr, AnswerMerge{Refused: ReasonModeDisagreement})
		if tr.adopt != nil {
			m.adoptAnswer(tr, AnswerMerge{Refused: ReasonModeDisagreement})
			tr.adopt = nil
		}
		return
	case m.latch(at, tr, tv):
		return
	case tv.Execution.Present():
		m.watchOver(at, tr, tv)
	default:
		tr.watch = watch{}
		tr.ended(at, tv)
	}
	if tr.step != trackIdle || tr.settle != nil {
		return
	}
	switch {
	case tr.adopt != nil && !tv.Execution.Present():
		tr.adopt.survey(&m.out)
		m.wait(tr, trackAdopting, tr.adopt.await)
	case !m.register.live:
		tr.because(at, ReasonKVDown) // what we declare ourselves is not seen yet: a look would find nobody who owns it
		tr.sweep = alarm{}           // looked for again once it is seen; an alarm that has rung must not stand
	case len(tr.requests) > 0 || m.sweepDue(at, tr, tv):
		m.look(at, tr)
	case !tv.Execution.Present():
		m.maybeClaim(at, tr, tv)
	}
}

// latch writes the latch where our declaration stands higher, or that of a worker which has the target drained, and takes it from draining down to owned
// where every live process declares owned since. It reports whether a write is under way.
func (m *Master) latch(at Moment, tr *track, tv *TargetView) bool {
	if !m.register.live {
		return false
	}
	says, latch := m.cfg.Declares.Says(tr.target), tv.Latch.peek()
	if m.view.drains(tr.target) != "" {
		says = Draining // workers write no latch
	}
	switch {
	case says != Direct && latch.Raises(says):
	case says == Owned && latch.mode() == Draining && m.allOwnedSince(tr.target, tv.Latch.Mod):
	default:
		return false
	}
	m.out.add(Note{Target: tr.target, Text: "mode is latched: " + string(says)})
	m.wait(tr, trackWriting, m.out.commit(SetLatch(m.view, tr.target, Latch{says, m.cfg.Instance, at.Wall})))
	return true
}

// allOwnedSince reports whether every live process declares the target owned in a registration newer
// than the latch.
func (m *Master) allOwnedSince(t Target, latch Revision) bool {
	for _, s := range m.view.Masters {
		if s.Value.Declares.Says(t) != Owned || s.Mod <= latch {
			return false
		}
	}
	for _, s := range m.view.Workers {
		if s.Value.Declares.Says(t) != Owned || s.Mod <= latch {
			return false
		}
	}
	return true
}

func (m *Master) answerAll(tr *track, a AnswerMerge) {
	for _, r := range tr.requests {
		a.Request = r.id
		m.out.add(a)
	}
	tr.requests = nil
}
