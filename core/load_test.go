package core_test

import (
	"fmt"
	"testing"

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
