package embedded_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// recreate drops the table past the gate and makes another one in its place, with pending generations.
func (r *rig) recreate(generations int) {
	r.Helper()
	r.must(os.RemoveAll(filepath.Join(r.dir, events.Path())))
	r.must(os.Remove(r.record))
	r.lancedb(generations)
}

// Attack table-recreated, between two merges: nothing of Sluice goes into the other table until a person
// says that it is the right one.
func TestAnotherTableAtThePathIsNotMergedUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replace func(*rig)
		code    core.Code
	}{
		"dropped and made again": {func(r *rig) { r.recreate(2) }, core.CodeLakeWentBack},
		"a copy of a table of another lake": {func(r *rig) {
			other := newRig(r.T, events)
			other.open()
			other.lancedb(1)
			other.merged(events)
			for i := range 3 {
				rows := stock.Rows{From: 1000 + i, To: 1001 + i}
				must[uint64](r.T)(clients.Append(r.Context(), other.direct(events), rows))
			}
			other.generations(2)
			r.must(os.RemoveAll(filepath.Join(r.dir, events.Path())))
			r.must(os.CopyFS(filepath.Join(r.dir, events.Path()), os.DirFS(filepath.Join(other.dir, events.Path()))))
			r.chain.begin()
		}, core.CodeTableReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			r.open()
			r.lancedb(1)
			r.merged(events)
			c.replace(r)
			view, head := r.saveView(events), r.look(events).Base.Version
			r.refusedRequest(events, c.code)
			if now := r.look(events).Base.Version; now != head {
				t.Fatalf("expected nothing to land in the new table, it went from v%d to v%d", head, now)
			}
			if n := len(r.history(events)); n != 1 {
				t.Fatalf("expected no execution on the new table, found %d", n-1)
			}

			r.adopt(events)
			r.merged(events)
			r.wantView(events, view)
			r.chain.check()
		})
	}
}

// Attack table-recreated, under a running execution: its commit does not land in the new table, and
// nobody merges that until a person has adopted it.
func TestACommitDoesNotLandInARecreatedTable(t *testing.T) {
	t.Parallel()
	// The commit is of version 5; the new table has 3 of its own.
	for name, appends := range map[string]int{"with fewer versions": 0, "whose next version is the same": 1, "with more versions": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			r.open()
			r.lancedb(2)
			r.puts.next(1, transactions)
			r.request(events)
			commit := r.held() // the engine is about to commit
			if err := clients.Drop(t.Context(), r.table(events)); err == nil {
				t.Fatal("expected the gate to refuse the drop of a table that is being merged")
			}
			r.recreate(2) // past the gate
			for i := range appends {
				rows := stock.Rows{From: 1000 + i, To: 1001 + i}
				r.chain.client(clients.Append(t.Context(), r.direct(events), rows))
			}
			view, head := r.saveView(events), r.look(events).Base.Version
			r.must(commit.Release())
			tv := r.until(events, "attention, because the table was replaced", func(tv *core.TargetView) bool {
				return len(tv.Failures) > 0 && tv.Failures[0].Value.Attention
			})
			if code := tv.Failures[0].Value.Code; code != core.CodeTableReplaced && code != core.CodeLakeWentBack {
				t.Fatalf("expected another table to be noticed, got %+v", tv.Failures[0].Value)
			}
			if e := tv.Execution.Value; e.Phase == core.Running {
				t.Fatalf("expected nothing to run on the new table, got execution %d", e.Number)
			}
			if now := r.look(events).Base.Version; now != head {
				t.Fatalf("expected nothing to land in the new table, it went from v%d to v%d", head, now)
			}
			r.wantSame("the view", stock.ViewOf(r.direct(events)), "the view before", view)

			r.adopt(events)
			r.merged(events)
			r.wantView(events, view)
			r.chain.check()
		})
	}
}

// Attack lake-restored: the table's files come back from an older copy.
func TestATableThatCameBackFromACopyIsNotMergedUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.lancedb(2)
	table, old := filepath.Join(r.dir, events.Path()), filepath.Join(t.TempDir(), "old")
	r.merged(events)
	r.must(os.CopyFS(old, os.DirFS(table)))
	r.generations(2)
	r.merged(events)
	r.must(os.RemoveAll(table))
	r.must(os.CopyFS(table, os.DirFS(old)))
	must[stock.Written](t)(clients.WriteLSM(t.Context(), r.direct(events), stock.Rows{From: 0, To: 10, Generation: 99}, ""))

	view, head := r.saveView(events), r.look(events).Base.Version
	r.refusedRequest(events, core.CodeLakeWentBack)
	if now := r.look(events).Base.Version; now != head {
		t.Fatalf("expected nothing to land, the base went from v%d to v%d", head, now)
	}
	r.adopt(events)
	r.merged(events)
	r.wantView(events, view)
}

// Attack lake-restored, by Lance's own restore: old marks come back, and with them what is pending.
func TestARestoredVersionIsMergedAgainFromItsOwnMarks(t *testing.T) {
	t.Parallel()
	for name, adopted := range map[string]bool{"from before the adoption": false, "from after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			r.open()
			r.lancedb(2)
			to := uint64(r.chain.from)
			if adopted {
				to++
			}
			r.merged(events)
			r.chain.client(clients.Restore(t.Context(), r.direct(events), to))
			if r.pending(events) != 2 {
				t.Fatalf("expected two generations to be pending again, found %d", r.pending(events))
			}
			view := r.saveView(events)
			r.merged(events)
			r.wantBase(events, view)
			r.chain.check()
		})
	}
}

// Attack kv-restored: the state file comes back from an older copy.
func TestARestoredKVMergesNothingUntilTheTableIsAdopted(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	state := filepath.Join(r.dir, embedded.Folder, embedded.StateFile)
	r.open()
	r.lancedb(1)
	r.merged(events)
	r.close()
	old, err := os.ReadFile(state)
	r.must(err)
	r.open()
	r.generations(1)
	r.merged(events)
	r.close()
	r.must(os.WriteFile(state, old, 0o600))

	r.open()
	r.generations(1)
	view, head := r.saveView(events), r.look(events).Base.Version
	r.refusedRequest(events, core.CodeLakeChanged)
	if now := r.look(events).Base.Version; now != head {
		t.Fatalf("expected nothing to land, the base went from v%d to v%d", head, now)
	}
	r.adopt(events)
	r.merged(events)
	r.wantBase(events, view)
	r.chain.check()
}

// Attack kv-restored: a copy of the state file is used by a second process on the same lake, while the
// first one lives.
func TestOfTwoProcessesOnCopiesOfOneKVOnlyOneCommits(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	state := filepath.Join(r.dir, embedded.Folder, embedded.StateFile)
	r.open()
	r.lancedb(1)
	r.merged(events)
	r.generations(2)
	r.close()
	body, err := os.ReadFile(state)
	r.must(err)
	r.open()
	r.must(os.Remove(state)) // the process goes on with the file that it has open
	r.must(os.WriteFile(state, body, 0o600))
	twin := r.child(childSpec{})

	view := r.saveView(events)
	r.puts.next(1, manifests)
	after := r.request(events)
	commit := r.held() // numbered in the lake, admitted, not landed
	twin.merge(events)
	s := twin.next()
	failure := s.Failure
	if s.History != nil {
		failure = &s.History.Failure
	}
	if failure == nil || failure.Code != core.CodeLakeChanged {
		t.Fatalf("expected the second process to stop with %s, it said %+v", core.CodeLakeChanged, s)
	}
	r.must(commit.Release())
	if h := r.await(events, after); !h.Merged {
		t.Fatalf("expected the first process to merge, got %+v", h)
	}
	r.wantBase(events, view)
	r.chain.check()
}

// Attack kv-restored: the state file is gone.
func TestALakeWhoseKVIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.lancedb(1)
	r.merged(events)
	r.close()
	r.must(os.Remove(filepath.Join(r.dir, embedded.Folder, embedded.StateFile)))
	n, err := embedded.Open(t.Context(), r.cfg)
	var other *lake.OtherKVError
	if !errors.As(err, &other) {
		if err == nil {
			n.Close()
		}
		t.Fatalf("expected the lake to be refused, because it belongs to another KV; got %v", err)
	}
}
