package gate_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/core"
)

// fakeAuthority stands for the worker's machine. It judges with the real rules of core against records
// that the test makes up; it has no KV, so what it finds right is admitted at once.
type fakeAuthority struct {
	mu         sync.Mutex
	changed    *sync.Cond // a commit was settled
	executions map[core.ExecutionID]core.Execution
	rebasable  map[core.ExecutionID]bool
	landed     map[core.ExecutionID][]core.Version
	modes      map[core.Target]core.Mode
	settled    []settlement
	worked     map[core.ExecutionID][]gate.Work
	// asked, if set, is called by Admit after judging; what it returns is the verdict.
	asked map[core.Target]func(ctx context.Context, in core.CommitIntent, v core.Verdict) core.Verdict
}

type settlement struct {
	in      core.CommitIntent
	outcome core.Outcome
	landed  bool
}

var _ gate.Authority = (*fakeAuthority)(nil)

func newFakeAuthority() *fakeAuthority {
	a := &fakeAuthority{
		executions: map[core.ExecutionID]core.Execution{}, rebasable: map[core.ExecutionID]bool{},
		landed: map[core.ExecutionID][]core.Version{}, modes: map[core.Target]core.Mode{},
		worked: map[core.ExecutionID][]gate.Work{},
		asked:  map[core.Target]func(context.Context, core.CommitIntent, core.Verdict) core.Verdict{},
	}
	a.changed = sync.NewCond(&a.mu)
	return a
}

func (a *fakeAuthority) run(e core.Execution) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.executions[e.ID], a.rebasable[e.ID], a.modes[e.Target] = e, true, core.Owned
}

func (a *fakeAuthority) release(e core.ExecutionID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.executions, e)
}

func (a *fakeAuthority) ask(t core.Target, f func(context.Context, core.CommitIntent, core.Verdict) core.Verdict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[t] = f
}

func (a *fakeAuthority) own(t core.Target, m core.Mode) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.modes[t] = m
}

func (a *fakeAuthority) Admit(ctx context.Context, in core.CommitIntent) core.Verdict {
	a.mu.Lock()
	v := core.Judge(a.executions[in.Execution], a.landed[in.Execution], core.Attempt{Rebasable: a.rebasable[in.Execution]}, in)
	f := a.asked[in.Target]
	a.mu.Unlock()
	if f != nil {
		return f(ctx, in, v)
	}
	return v
}

func (a *fakeAuthority) Settled(in core.CommitIntent, o core.Outcome, landed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settled = append(a.settled, settlement{in, o, landed})
	a.changed.Broadcast()
	if landed {
		a.landed[in.Execution] = append(a.landed[in.Execution], in.Name.Version)
	}
}

// await waits until n commits have been settled, and returns their outcomes.
func (a *fakeAuthority) await(t *testing.T, n int) []core.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, a.changed.Broadcast)()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.settled) < n {
		if ctx.Err() != nil {
			t.Fatalf("%d commits are settled, want %d", len(a.settled), n)
		}
		a.changed.Wait()
	}
	var out []core.Outcome
	for _, s := range a.settled {
		out = append(out, s.outcome)
	}
	return out
}

// outcomes are the settled ones of a table, in order.
func (a *fakeAuthority) outcomes(t core.Target) []core.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []core.Outcome
	for _, s := range a.settled {
		if s.in.Target == t {
			out = append(out, s.outcome)
		}
	}
	return out
}

func (a *fakeAuthority) Worked(e core.ExecutionID, w gate.Work) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.worked[e] = append(a.worked[e], w)
}

func (a *fakeAuthority) work(e core.ExecutionID) (writes int, read core.Bytes) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.worked[e] {
		if w.Written {
			writes++
		} else {
			read += w.Bytes
		}
	}
	return writes, read
}

func (a *fakeAuthority) Mode(t core.Target) core.Mode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.modes[t]
}

func (a *fakeAuthority) Watched(t core.Target) (core.Version, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.executions {
		if e.Target == t {
			return e.BaseVersion, true
		}
	}
	return 0, false
}
