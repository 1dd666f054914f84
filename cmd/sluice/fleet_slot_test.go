package main_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/core"
)

// One worker with one slot, two tables. While the engine of the first is stopped, the second is reserved for
// nobody and says no_slot. Its clock starts with its slot: it waits for longer than its execution may take,
// which costs it nothing.
func TestSlotWaiting(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--owned", "db/events,db/second")
	kv := f.store()
	w := f.start("worker", "--endpoint", "w1", "--slots", "1")
	engines := w.engines()
	signalAll(t, engines, unix.SIGSTOP)
	m := f.start("master", "--id", "m1", "--poll", "1h")
	f.ask(m)
	until(t, kv, "the first table runs", func(v *core.View) bool {
		return v.Target("db/events").Execution.Value.Phase == core.Running
	})
	limit := int64(10)
	_, err := m.api.SetPolicy(t.Context(), "db/second", core.Policy{ExecutionSeconds: &limit})
	must(t, err)
	copyTable(t, events, f.lake, "db/second")
	_, err = m.api.Merge(t.Context(), "db/second", false)
	must(t, err)
	await(t, 20*time.Second, func() (bool, string) {
		target, err := m.api.Target(t.Context(), "db/second")
		if err != nil {
			return false, err.Error()
		}
		return target.Reason == core.ReasonNoSlot, "the reason is " + string(target.Reason)
	})
	throughout(t, 11*time.Second, func() {
		if second := records(t, kv).Target("db/second"); second.Owner.Present() || second.Execution.Present() {
			t.Fatalf("the second table is reserved while the only slot is taken: %+v", second.Execution.Value)
		}
	})
	signalAll(t, engines, unix.SIGCONT)
	a, b := over(t, m, "db/events", 1), over(t, m, "db/second", 1)
	if !a.Merged || !b.Merged {
		t.Fatalf("expected both to merge at their first try: %+v, %+v", a.Failure, b.Failure)
	}
	if waited := b.Execution.Started - b.Execution.Requested; waited < 10_000 {
		t.Errorf("expected the second table to have waited for its slot, it waited %d ms", waited)
	}
	if b.Execution.Reserved < a.Released {
		t.Errorf("the second table was reserved %d ms before the slot was free", a.Released-b.Execution.Reserved)
	}
	v := records(t, kv)
	for _, target := range []core.Target{"db/events", "db/second"} {
		wantUncharged(t, v, target)
		wantMerged(t, f.lake, string(target))
	}
}

func signalAll(t *testing.T, processes []int, s unix.Signal) {
	t.Helper()
	if len(processes) == 0 {
		t.Fatal("expected processes to signal, there are none")
	}
	for _, p := range processes {
		must(t, unix.PidfdSendSignal(p, s, nil, 0))
	}
}

// throughout looks again and again for so long.
func throughout(t *testing.T, d time.Duration, look func()) {
	t.Helper()
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-every.C {
		look()
	}
}
