package embedded_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

func TestMoreThanOnePassTakesIsMergedByFurtherExecutions(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.cfg.Pass = core.PassLimits{Generations: 2}
	r.open()
	r.lancedb(5)
	before := r.saveView(events)
	r.merged(events)
	r.settled(events)
	all := r.history(events)
	if len(all) != 3 {
		t.Fatalf("expected three executions for five generations, two at a time; got %+v", all)
	}
	for _, h := range all {
		if !h.Merged {
			t.Fatalf("expected all executions to merge, got %+v", h)
		}
	}
	r.wantBase(events, before)
	r.wantUncharged(events)
	r.chain.check()
}

// twoShards makes a table with two generations in each of two shards.
func (r *rig) twoShards() (bad, good core.ShardID) {
	r.Helper()
	r.sharded(stock.Rows{To: 50})
	one := r.shard("", &stock.Rows{From: 100, To: 110, Generation: 1})
	r.shard(one, &stock.Rows{From: 105, To: 115, Generation: 2})
	other := r.shard("", &stock.Rows{From: 200, To: 210, Generation: 3})
	return core.ShardID(one), core.ShardID(other)
}

// wantGoodShardOnly demands that the good shard has been merged and the bad one has attention.
func (r *rig) wantGoodShardOnly(bad, good core.ShardID, code core.Code) {
	r.Helper()
	marks := r.look(events).Base.Marks
	if marks.Of(good) != 1 || marks.Of(bad) != 0 {
		r.Fatalf("expected the good shard to be merged and the bad one not, the marks are %v", marks)
	}
	b := r.budget(events)
	if b.Code != code || b.Class != core.Data || !b.Attention || !b.Bad(bad) || b.Bad(good) {
		r.Fatalf("expected attention for the bad shard with %s, got %+v", code, b)
	}
	r.chain.check()
}

func TestAMissingSSTableStopsItsShardAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	bad, good := r.twoShards()
	for _, s := range r.look(events).Shards {
		if s.Shard == bad {
			r.must(os.RemoveAll(filepath.Join(r.dir, lance.ShardsFolder(events), string(bad), s.SSTables[1].Path)))
		}
	}
	first := r.merge(events)
	if f := first.Failure; first.Merged || f.Code != core.CodeSSTableMissing || f.Shard != bad || f.Generation != 2 {
		t.Fatalf("expected %s for generation 2 of %s, got %+v", core.CodeSSTableMissing, bad, first)
	}
	if h := r.await(events, first.Execution.Number); !h.Merged {
		t.Fatalf("expected the other shard to be merged at once, got %+v", h)
	}
	r.wantGoodShardOnly(bad, good, core.CodeSSTableMissing)
}

func TestALostGenerationStopsItsShardAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, events)
	r.open()
	bad, good := r.twoShards()
	r.loseFirstGeneration(bad)
	if h := r.merge(events); !h.Merged {
		t.Fatalf("expected a pass without the shard, got %+v", h)
	}
	r.wantGoodShardOnly(bad, good, core.CodeGenerationGap)
}

// loseFirstGeneration publishes a manifest of the shard that doesn't list its first SSTable.
func (r *rig) loseFirstGeneration(s core.ShardID) {
	r.Helper()
	const version, sstables = 1, 8
	newest, err := lance.LatestShard(r.Context(), r.files, events, s)
	r.must(err)
	body, err := r.files.Get(r.Context(), lance.ShardKey(events, s, newest))
	r.must(err)
	var out []byte
	lost := false
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		size := protowire.ConsumeFieldValue(number, kind, body[n:])
		if n < 0 || size < 0 {
			r.Fatalf("the manifest of shard %s is not a message", s)
		}
		field := body[:n+size]
		body = body[n+size:]
		switch {
		case number == version:
			out = protowire.AppendTag(out, version, protowire.VarintType)
			out = protowire.AppendVarint(out, uint64(newest)+1)
		case number == sstables && !lost:
			lost = true
		default:
			out = append(out, field...)
		}
	}
	r.must(r.files.PutIfAbsent(r.Context(), lance.ShardKey(events, s, newest+1), bytes.NewReader(out)))
}
