package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// Whatever is reserved for a worker by two masters that see old hints, it starts no more than it has room
// for; and it always says what it has left.
func TestAWorkerStartsNoMoreThanItHasRoomFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slots, bytes := rapid.IntRange(1, 4).Draw(t, "slots"), core.Bytes(rapid.IntRange(1, 50).Draw(t, "bytes"))
		w := core.NewWorker(core.WorkerConfig{Endpoint: "w1", Instance: "w1/1", Slots: slots, Bytes: bytes})
		at := core.Moment{Fresh: "n"}
		live := registered(t, w, at)
		taken, sum := 0, core.Bytes(0)
		for i := range rapid.IntRange(1, 8).Draw(t, "starts") {
			e := core.Execution{ID: core.ExecutionID(fmt.Sprint(i)), Number: 1, Target: core.Target(fmt.Sprintf("t%d", i)), Kind: core.KindMerge, Phase: core.Reserved, Endpoint: "w1"}
			e.Bytes = core.Bytes(rapid.IntRange(1, 60).Draw(t, "takes"))
			refused := core.ReasonNoWorker
			for _, effect := range w.Step(at, core.StartRequested{Request: 1, Execution: e}) {
				if a, ok := effect.(core.AnswerStart); ok {
					refused = a.Refused
				}
			}
			fits := live && taken < slots && (sum+e.Bytes <= bytes || taken == 0)
			if fits != (refused == core.ReasonNone) {
				t.Fatalf("%d bytes beside %d of %d in %d of %d slots: refused for %q", e.Bytes, sum, bytes, taken, slots, refused)
			}
			if fits {
				taken, sum = taken+1, sum+e.Bytes
			}
			want := core.Load{Endpoint: "w1", Instance: "w1/1", Accepting: true, Active: taken, Slots: slots - taken, Bytes: max(0, bytes-sum)}
			if got := w.Load(); got != want {
				t.Fatalf("expected the load %+v, got %+v", want, got)
			}
		}
	})
}

// registered lets the worker register, unless the KV takes nothing.
func registered(t *rapid.T, w *core.Worker, at core.Moment) bool {
	if !rapid.Bool().Draw(t, "registered") {
		return false
	}
	for _, effect := range w.Step(at, core.Changed{Revision: 1, Reset: true}) {
		if c, ok := effect.(core.Commit); ok && c.Txn.Name == "register" {
			records := []core.Record{}
			for _, op := range c.Txn.Then {
				records = append(records, core.Record{Key: op.Key, Value: op.Value, Mod: 2})
			}
			w.Step(at, core.Committed{Effect: c.ID, Outcome: core.Applied, Revision: 2})
			w.Step(at, core.Changed{Revision: 2, Puts: records})
			return true
		}
	}
	t.Fatal("expected the worker to register")
	return false
}

func TestReservationsThatNobodyStartsBackOffAndChargeNobody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r core.FailureRecord
		for range rapid.IntRange(0, 5).Draw(t, "failures") {
			r = r.Charged(core.Failure{Code: core.CodeStorage}, 7)
		}
		before := r
		last := int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "limits") {
			r = r.Queueing(core.Failure{Code: core.CodeQueueLimit}, 7)
			if r.Attempts != before.Attempts || r.Attention != before.Attention || before.Attempts > 0 && r.Code != before.Code {
				t.Fatalf("somebody was charged: %+v, was %+v", r, before)
			}
			if r.Delay < last || r.Delay < 2000 || r.Delay > 900_000 {
				t.Fatalf("waits %d ms after %d ms", r.Delay, last)
			}
			last = r.Delay
		}
		if _, empty := r.Cleared([]core.ShardID{"s1"}); !empty {
			t.Fatalf("a success leaves %+v", r)
		}
	})
}

// A lease that is lost takes the load with it, and the registration that is made anew brings one of an earlier
// moment. Whatever is applied, answered and shown, in whatever order, what stands in the end is what the worker
// has room for.
func TestTheLoadThatStandsInTheEndIsTheWorkersOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := &advertiser{T: t, w: core.NewWorker(core.WorkerConfig{Endpoint: "w1", Instance: "w1/1", Slots: 2}), kv: map[string]core.Record{}, rev: 1}
		a.step(core.Changed{Revision: 1, Reset: true})
		t.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) {},
			"job":    func(*rapid.T) { a.job() },
			"end":    func(*rapid.T) { a.end() },
			"lease":  func(*rapid.T) { a.delete(core.WorkerKey("w1"), core.LoadKey("w1")) },
			"apply":  func(t *rapid.T) { a.apply(rapid.Bool().Draw(t, "answered")) },
			"answer": func(*rapid.T) { a.answer() },
			"show":   func(*rapid.T) { a.show() },
			"later":  func(*rapid.T) { a.later() },
		})
		for range 50 { // nothing more happens, and everything arrives
			for len(a.asked) > 0 {
				a.apply(true)
			}
			for len(a.answers) > 0 {
				a.answer()
			}
			a.show()
			a.later()
		}
		if got := a.kv[core.LoadKey("w1")].Value; got != core.Encode(a.w.Load()) {
			t.Fatalf("the KV says %s, the worker has %+v", got, a.w.Load())
		}
	})
}

// advertiser is a worker in front of a KV, with everything that is on its way between them.
type advertiser struct {
	*rapid.T
	w       *core.Worker
	at      core.Moment
	kv      map[string]core.Record
	rev     core.Revision
	changes []core.Changed
	asked   []core.Commit
	answers []core.Event
	jobs    []core.Target
	n       int
}

func (a *advertiser) step(ev core.Event) {
	a.n++
	a.at.Fresh = fmt.Sprint("f", a.n)
	for _, e := range a.w.Step(a.at, ev) {
		switch e := e.(type) {
		case core.Commit:
			if e.Txn.Name == "register" || e.Txn.Name == "load" {
				a.asked = append(a.asked, e)
			}
		case core.StopEngine:
			a.answers = append(a.answers, core.EngineEnded{Target: e.Target, Execution: e.Execution})
		}
	}
}

func (a *advertiser) job() {
	t := core.Target(fmt.Sprint("t", a.n))
	a.jobs = append(a.jobs, t)
	a.step(core.StartRequested{Request: 1, Execution: core.Execution{ID: core.ExecutionID(t), Number: 1, Target: t, Kind: core.KindMerge, Phase: core.Reserved, Endpoint: "w1", Bytes: 1}})
}

// end takes a job away: its record is gone.
func (a *advertiser) end() {
	if len(a.jobs) > 0 {
		a.delete(core.ExecutionKey(a.jobs[0]))
		a.jobs = a.jobs[1:]
	}
}

func (a *advertiser) delete(keys ...string) {
	a.rev++
	for _, k := range keys {
		delete(a.kv, k)
	}
	a.changes = append(a.changes, core.Changed{Revision: a.rev, Deletes: keys})
}

// apply carries out the oldest request; its answer may get lost.
func (a *advertiser) apply(answered bool) {
	if len(a.asked) == 0 {
		return
	}
	c := a.asked[0]
	a.asked = a.asked[1:]
	said := core.Committed{Effect: c.ID, Outcome: core.Applied}
	for _, cond := range c.Txn.If {
		if held := a.kv[cond.Key]; cond.Op == core.CondHolds && held.Value != cond.Value || cond.Op == core.CondAbsent && held.Mod != 0 {
			said.Outcome = core.NotApplied
		}
	}
	if said.Outcome == core.Applied {
		a.rev++
		ch := core.Changed{Revision: a.rev}
		for _, op := range c.Txn.Then {
			a.kv[op.Key] = core.Record{Key: op.Key, Value: op.Value, Mod: a.rev}
			ch.Puts = append(ch.Puts, a.kv[op.Key])
		}
		a.changes = append(a.changes, ch)
	}
	if said.Revision = a.rev; !answered {
		said = core.Committed{Effect: c.ID}
	}
	a.answers = append(a.answers, said)
}

func (a *advertiser) answer() {
	if len(a.answers) > 0 {
		ev := a.answers[0]
		a.answers = a.answers[1:]
		a.step(ev)
	}
}

func (a *advertiser) show() {
	for _, ch := range a.changes {
		a.step(ch)
	}
	a.changes = nil
}

func (a *advertiser) later() {
	a.at.Mono = a.at.Mono.Add(2 * time.Second)
	a.step(core.Tick{})
}
