package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Load is what a worker says of its room, in a leased record that it writes again whenever this changes. It
// is a hint: masters reserve by it, and no transaction compares it, so one that is old costs a refused start
// at most.
type Load struct {
	Endpoint Endpoint `json:"endpoint"`
	Instance Instance `json:"instance"`
	// Accepting is false once the worker is to take nothing new; it is empty when Active is 0 then.
	Accepting bool `json:"accepting"`
	// Active counts the executions that the worker has to do with, self-merges too.
	Active int `json:"active"`
	// Slots and Bytes are free, of those for masters to reserve.
	Slots int   `json:"free_slots"`
	Bytes Bytes `json:"free_bytes"`
}

// Load is what this worker has room for now.
func (w *Worker) Load() Load {
	l := Load{Endpoint: w.cfg.Endpoint, Instance: w.cfg.Instance, Accepting: !w.draining, Active: w.Busy(), Slots: w.cfg.Slots, Bytes: w.cfg.Bytes}
	for _, t := range sortedKeys(w.jobs) {
		if j := w.jobs[t]; j.exec.Kind != KindSelf && !j.stuck() {
			l.Slots, l.Bytes = l.Slots-1, l.Bytes-j.exec.Bytes
		}
	}
	l.Slots, l.Bytes = max(0, l.Slots), max(0, l.Bytes)
	return l
}

// refuses says why an execution has no room here.
func (w *Worker) refuses(e Execution) Reason {
	l := w.Load()
	switch {
	case e.Kind.Maintains() && !slices.Contains(w.cfg.Kinds, e.Kind):
		return ReasonNoWorker // it was reserved for a process that had this name before, and could
	case w.cfg.Unsafe != "":
		return ReasonLakeUnsafe
	case !l.Accepting:
		return ReasonDraining
	case l.Slots == 0:
		return ReasonNoSlot
	case e.Bytes > l.Bytes && l.Slots < w.cfg.Slots:
		return ReasonNoBytes // one that is larger than all our room runs alone
	}
	return ReasonNone
}

// advertisement keeps a worker's load in the KV. What stands there is what the watch shows: an answer says
// nothing of a write that comes after it, such as that of a registration which was made anew meanwhile.
type advertisement struct {
	asked Load
	rev   Revision // at which asked was written, as an answer has told
	await EffectID
	retry alarm
}

// advertise writes the load if another one stands; nobody else's transaction waits for it. It compares the
// worker's own registration, which a second process with the same name does not have.
func (w *Worker) advertise() {
	a, now := &w.load, w.Load()
	if !w.register.live {
		w.register.Beside = PutLeased(LoadKey(w.cfg.Endpoint), Encode(now))
		return
	}
	seen := w.view.load(w.cfg.Endpoint)
	stands := seen.Value == now || seen.Present() && guard.Out(guard.HintIsKeptTrue)
	coming := a.asked == now && a.rev > w.view.Revision
	if stands || coming || a.await != 0 || a.retry.Set {
		return
	}
	a.asked, a.rev = now, 0
	a.await = w.out.commit(Txn{
		Name: "load", If: []Cond{Holds(w.register.Key, w.register.Value)},
		Then: []Op{PutLeased(LoadKey(w.cfg.Endpoint), Encode(now))},
	})
}

// load is what an endpoint advertises.
func (v *View) load(e Endpoint) Seen[Load] {
	for _, s := range v.Loads {
		if s.Value.Endpoint == e {
			return s
		}
	}
	return Seen[Load]{}
}

// answered reports whether the event was the answer that it waited for.
func (a *advertisement) answered(at Moment, ev Event) bool {
	c, ok := ev.(Committed)
	if !ok || a.await == 0 || c.Effect != a.await {
		return false
	}
	a.await = 0
	if c.Outcome == Applied {
		a.rev = c.Revision
	} else {
		a.retry = alarmAt(at.Mono.Add(time.Second))
	}
	return true
}

func (a *advertisement) tick(at Moment) {
	if a.retry.due(at.Mono) {
		a.retry = alarm{}
	}
}

// need is what a pass wants of a worker.
type need func(w WorkerRecord, free Bytes) Bytes

// atLeast wants room for b.
func atLeast(b Bytes) need { return func(WorkerRecord, Bytes) Bytes { return b } }

// roomOf is what a worker has left: the lesser of what it says itself and what is reserved for it, since
// each may be ahead of the other. What has ended is no load of a worker any more, even if its table can't be
// given back yet.
func (m *Master) roomOf(w WorkerRecord, but Target) (l Load) {
	if s := m.view.load(w.Endpoint); s.Value.Instance == w.Instance {
		l = s.Value
	}
	slots, bytes := w.Slots, w.Bytes
	for _, t := range m.view.order {
		e := &m.view.Targets[t].Execution.Value
		if e.ID == "" {
			if tr, ok := m.tracks[t]; ok && t != but && tr.claiming() {
				e = &tr.claim // ours, and not in the view yet
			}
		}
		elsewhere := e.Endpoint != w.Endpoint || e.Instance != "" && e.Instance != w.Instance
		over := e.Phase != "" && e.Phase != Reserved && e.Phase != Running
		if e.Kind == KindSelf || elsewhere || over {
			continue
		}
		slots, bytes = slots-1, bytes-e.Bytes
	}
	l.Slots, l.Bytes = min(l.Slots, slots), max(0, min(l.Bytes, bytes))
	return l
}

// fits says why a worker can't be reserved for; what is larger than all its room fits while it is idle.
func (m *Master) fits(w WorkerRecord, t Target, wants need) Reason {
	l := m.roomOf(w, t)
	switch {
	case w.Unsafe != "":
		return ReasonLakeUnsafe
	case guard.Out(guard.RoomIsAdvertised):
		return ReasonNone
	case !l.Accepting:
		return ReasonNoWorker
	case l.Slots <= 0:
		return ReasonNoSlot
	case l.Slots < w.Slots && (l.Bytes == 0 || wants(w, l.Bytes) > l.Bytes):
		return ReasonNoBytes
	}
	return ReasonNone
}

// hasRoom says why a worker can't be reserved for, also by what others wait for.
func (m *Master) hasRoom(at Moment, w WorkerRecord, t Target, wants need) Reason {
	why := m.fits(w, t, wants)
	if why == ReasonNone && m.kept(at, w, t) {
		why = ReasonNoBytes
	}
	return why
}

// shortage is what the last look found no room for, for one endpoint of a target, and from when on a worker is
// kept free for it.
type shortage struct {
	need Bytes
	kept alarm
}

// lacks notes a shortage.
func (tr *track) lacks(at Moment, e Endpoint, need Bytes, queue time.Duration) {
	s := tr.short[e]
	if s.need = need; !s.kept.Set {
		s.kept = alarmAt(at.Mono.Add(queue))
	}
	tr.short[e] = s
}

// kept reports whether a worker is kept free for another target, which has waited long for more room than
// it ever had: without that, small passes would fill every gap that they leave (invariant 8). It is kept for
// one of them, who has waited longest, or two would keep each other waiting for ever.
func (m *Master) kept(at Moment, w WorkerRecord, but Target) bool {
	t, e := m.longest(at)
	return t != "" && t != but && m.preferred(t, e) == w.Endpoint && !guard.Out(guard.LongWaitIsServed)
}

// longest is who has waited longest for room, of those that a worker is kept free for.
func (m *Master) longest(at Moment) (target Target, endpoint Endpoint) {
	var since MonoTime
	for _, t := range m.order {
		tr := m.tracks[t]
		if len(tr.short) == 0 {
			continue
		}
		if tv := m.view.Target(t); tv.Execution.Present() || tv.Demand.Value.Empty() {
			continue
		}
		for _, e := range sortedKeys(tr.short) {
			if kept := tr.short[e].kept; kept.due(at.Mono) && m.preferred(t, e) != "" && (target == "" || kept.At < since) {
				target, endpoint, since = t, e, kept.At
			}
		}
	}
	return target, endpoint
}

// preferred is the worker that an endpoint's share of a target would go to if all of them had room.
func (m *Master) preferred(t Target, e Endpoint) (best Endpoint) {
	for _, s := range m.view.Workers {
		name := s.Value.Endpoint
		mode, unclear := EffectiveMode(voices(m.view, t, s))
		able := mode == Owned && unclear == ReasonNone && s.Value.Unsafe == "" && m.roomOf(s.Value, t).Accepting
		switch {
		case !able:
		case name == e:
			return e
		case e == Unowned && (best == "" || weight(t, name) > weight(t, best)):
			best = name
		}
	}
	return best
}

// nearest is the reason of the worker that came nearest to being taken.
func nearest(a, b Reason) Reason {
	order := func(r Reason) int {
		switch r {
		case ReasonNoWorker:
			return 0
		case ReasonNoSlot:
			return 2
		case ReasonNoBytes:
			return 3
		}
		return 1
	}
	if cmp.Compare(order(b), order(a)) > 0 {
		return b
	}
	return a
}
