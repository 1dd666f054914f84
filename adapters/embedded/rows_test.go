package embedded_test

import (
	"testing"

	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

const transactions = "db/events.lance/_transactions/"

// Attack resurrection: a program inserts a tombstoned key between the engine's read and its commit. Until
// the mark the tombstone hides that row, so after it the row must be gone.
func TestATombstonedKeyThatIsInsertedMeanwhileIsNotResurrected(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.sharded(stock.Rows{To: 50})
	r.shard("", &stock.Rows{From: 40, To: 60, Generation: 1}, 5, 77)
	r.puts.next(1, transactions)
	after := r.request(events)
	commit := r.held()
	r.chain.client(clients.Upsert(t.Context(), r.direct(events), stock.Rows{From: 77, To: 78, Generation: 9}, nil))
	view := r.saveView(events)
	r.must(commit.Release())
	if h := r.await(events, after); !h.Merged {
		t.Fatalf("expected the merge to succeed on top of the insert, got %+v", h)
	}
	r.wantView(events, view)
	r.wantUncharged(events)
	r.chain.check()
}

// composite gives the table a key for which a pass with tombstones takes two commits.
func (r *rig) composite() {
	r.key = []string{"region", "id"}
	r.columns = []stock.Column{{Name: "region", Type: "string"}, {Name: "id", Type: "int64"}, {Name: "name", Type: "string"}, {Name: "generation", Type: "int64"}}
}

// betweenTwoCommits runs a pass that takes two commits, and calls do when the second is about to be made.
func (r *rig) betweenTwoCommits(do func()) core.History {
	r.Helper()
	r.composite()
	r.open()
	r.sharded(stock.Rows{To: 50})
	r.shard("", &stock.Rows{From: 40, To: 60, Generation: 1}, []any{"region-00000005", 5}, []any{"region-00000006", 6})
	r.puts.next(2, transactions)
	after := r.request(events)
	r.must(r.held().Release())
	second := r.held()
	do()
	r.must(second.Release())
	return r.await(events, after)
}

// Attack undo-between: a program changes rows that the pass has upserted, before the pass is marked. Until
// the mark the SSTables hide that, so after it the rows must be those of the SSTables.
func TestRowsThatAreChangedBetweenTwoCommitsOfAPassAreAsInTheView(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *rig, table stock.Table) (uint64, error){
		"deleted": func(r *rig, table stock.Table) (uint64, error) {
			return clients.Delete(r.Context(), table, "id = 45")
		},
		"updated": func(r *rig, table stock.Table) (uint64, error) {
			return clients.Update(r.Context(), table, "id = 55", map[string]string{"name": "'undone'"})
		},
		"a tombstoned one inserted": func(r *rig, table stock.Table) (uint64, error) {
			return clients.Upsert(r.Context(), table, stock.Rows{From: 5, To: 6, Generation: 9}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			var view stock.Source
			h := r.betweenTwoCommits(func() {
				r.chain.client(change(r, r.direct(events)))
				view = r.saveView(events)
			})
			if !h.Merged {
				t.Fatalf("expected the pass to begin again and succeed, got %+v", h)
			}
			r.wantBase(events, view)
			r.wantUncharged(events)
			r.chain.check()
		})
	}
}

// Attack overwrite-between: the base is replaced between plan and commit, or between the two commits.
func TestAPassDoesNotGoIntoABaseThatWasOverwritten(t *testing.T) {
	t.Parallel()
	rows := stock.Rows{From: 500, To: 520, Generation: 9}
	for name, run := range map[string]func(r *rig, overwrite func()) core.History{
		"between plan and commit": func(r *rig, overwrite func()) core.History {
			r.open()
			r.sharded(stock.Rows{To: 50})
			r.shard("", &stock.Rows{From: 40, To: 60, Generation: 1})
			r.puts.next(1, transactions)
			after := r.request(events)
			commit := r.held()
			overwrite()
			r.must(commit.Release())
			return r.await(events, after)
		},
		"between two commits": func(r *rig, overwrite func()) core.History {
			return r.betweenTwoCommits(overwrite)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			var base string
			h := run(r, func() {
				r.chain.client(clients.Overwrite(t.Context(), r.direct(events), rows))
				base = r.TempDir() + "/base"
				must[stock.Contents](t)(clients.Base(t.Context(), r.direct(events), 0, base))
			})
			if h.Merged || h.Failure.Code != core.CodeNoMemWAL {
				t.Fatalf("expected the pass to fail with %s, got %+v", core.CodeNoMemWAL, h)
			}
			if b := r.budget(events); !b.Attention || b.Class != core.Config {
				t.Fatalf("expected attention for the table's configuration, got %+v", b)
			}
			r.wantSame("the base", stock.BaseOf(r.direct(events)), "what it was overwritten with", stock.File(base))
			r.chain.check()
		})
	}
}

// Attack two-shards-one-key, and one-bad-shard: the others go on at once.
func TestAKeyInTwoShardsStopsThoseShardsAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	r.sharded(stock.Rows{To: 50})
	one := r.shard("", &stock.Rows{From: 100, To: 110, Generation: 1})
	other := r.shard("", &stock.Rows{From: 109, To: 120, Generation: 2})
	good := r.shard("", &stock.Rows{From: 200, To: 210, Generation: 3})
	first := r.merge(events)
	if first.Merged || first.Failure.Code != core.CodeKeyInTwoShards || first.Base != first.Execution.BaseVersion {
		t.Fatalf("expected %s and nothing published, got %+v", core.CodeKeyInTwoShards, first)
	}
	second := r.await(events, first.Execution.Number)
	if !second.Merged || len(second.Execution.Plan) != 1 || string(second.Execution.Plan[0].Shard) != good {
		t.Fatalf("expected the good shard to be merged at once, got %+v", second)
	}
	b := r.budget(events)
	if b.Class != core.Data || !b.Attention || !b.Bad(core.ShardID(one)) || !b.Bad(core.ShardID(other)) || b.Bad(core.ShardID(good)) {
		t.Fatalf("expected attention for both shards and no other, got %+v", b)
	}
	marks := r.look(events).Base.Marks
	if marks.Of(core.ShardID(one)) != 0 || marks.Of(core.ShardID(other)) != 0 {
		t.Fatalf("expected no mark for the two shards, found %v", marks)
	}
	r.chain.check()
}
