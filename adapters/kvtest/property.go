package kvtest

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// keys are few, so that random transactions meet; some are prefixes of others.
var keys = []string{"k/a", "k/b", "k/b/x", "k/b0", "k/c"}

// ends, with keys, are where random ranges begin and end.
var ends = []string{"k/b/", "k/d"}

// testReference takes a store and the reference through the same random steps. Every answer, every read
// and every batch of a watch must be the reference's.
func testReference(t *testing.T, h Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		opened := h.Open(t)
		r := &run{h: h, t: t, store: store{opened, rt}, states: map[core.Revision]reference{}}
		defer func() { r.store.close() }()
		r.now = newReference(r.store.read().Revision)
		r.states[r.now.revision] = r.now
		r.watched = drawRange(rt, "watched")
		r.watch(r.now.revision)
		defer func() { r.cancel() }()

		steps := map[string]func(*rapid.T){
			"":       func(*rapid.T) {},
			"commit": r.commit, "commit again": r.commit, "commit more": r.commit,
			"read": r.read, "catch up": func(*rapid.T) { r.catchUp() },
		}
		if h.Reopen != nil {
			steps["reopen"] = r.reopen
		}
		rt.Repeat(steps)
		r.catchUp()
		if got := r.store.read(all); !slices.Equal(got.Records, r.now.read(all)) || got.Revision != r.now.revision {
			rt.Fatalf("at the end:\n got %v at %d\nwant %v at %d", got.Records, got.Revision, r.now.read(all), r.now.revision)
		}
	})
}

// run is one sequence of steps.
type run struct {
	h       Harness
	t       *testing.T
	store   store
	now     reference
	states  map[core.Revision]reference // every state there was
	watched core.Range
	mirror  *mirror
	batches <-chan kv.Batch
	cancel  context.CancelFunc
}

func (r *run) commit(rt *rapid.T) {
	txn := core.Txn{Name: "step", If: rapid.SliceOfN(rapid.Custom(r.drawCond), 0, 2).Draw(rt, "if"), Then: drawOps(rt)}
	got := r.store.commit(txn)
	var want kv.Answer
	r.now, want = r.now.commit(txn)
	if got != want {
		rt.Fatalf("%v: got %v at %d, want %v at %d", txn, got.Outcome, got.Revision, want.Outcome, want.Revision)
	}
	r.states[r.now.revision] = r.now
}

func (r *run) read(rt *rapid.T) {
	ranges := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) core.Range { return drawRange(rt, "range") }), 0, 3).Draw(rt, "ranges")
	got := r.store.read(ranges...)
	if want := r.now.read(ranges...); !slices.Equal(got.Records, want) || got.Revision != r.now.revision {
		rt.Fatalf("read %v:\n got %v at %d\nwant %v at %d", ranges, got.Records, got.Revision, want, r.now.revision)
	}
}

func (r *run) reopen(rt *rapid.T) {
	r.store.close()
	r.store.KV = r.h.Reopen(r.t, r.store.KV)
	r.now = r.now.restarted()
	r.states[r.now.revision] = r.now
	// The watcher comes back with what it knew, which may be long ago.
	r.cancel()
	ctx, cancel := context.WithCancel(rt.Context())
	r.batches, r.cancel = r.store.Watch(ctx, r.watched, r.mirror.revision), cancel
}

// watch begins a watch from a past revision.
func (r *run) watch(from core.Revision) {
	ctx, cancel := context.WithCancel(r.store.t.Context())
	r.mirror = newMirror(r.watched, from)
	for _, record := range r.states[from].read(r.watched) {
		r.mirror.records[record.Key] = record
	}
	r.batches, r.cancel = r.store.Watch(ctx, r.watched, from), cancel
}

// catchUp takes what the watch has to tell and compares every batch.
func (r *run) catchUp() {
	for last := lastChange(r.states, r.watched); r.mirror.revision < last; {
		r.mirror.next(r.store.t, r.batches)
		then, known := r.states[r.mirror.revision]
		if got, want := r.mirror.sorted(), then.read(r.watched); !known || !slices.Equal(got, want) {
			r.store.t.Fatalf("watch of %v at revision %d:\n got %v\nwant %v", r.watched, r.mirror.revision, got, want)
		}
	}
}

// drawCond draws conditions that hold often enough: most look at what is there now.
func (r *run) drawCond(rt *rapid.T) core.Cond {
	key := rapid.SampledFrom(keys).Draw(rt, "key")
	rev := rapid.SampledFrom([]core.Revision{r.now.records[key].Mod, 0, r.now.revision, r.now.revision - 1}).Draw(rt, "rev")
	switch rapid.IntRange(0, 3).Draw(rt, "cond") {
	case 0:
		return core.Holds(key, rapid.SampledFrom([]string{r.now.records[key].Value, "", "1"}).Draw(rt, "value"))
	case 1:
		return core.Absent(key)
	case 2:
		return core.Unchanged(key, rev)
	}
	return core.RangeUnchanged(drawRange(rt, "range"), rev)
}

// drawOps draws the operations of a valid transaction.
func drawOps(rt *rapid.T) []core.Op {
	var ops []core.Op
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 3, rapid.ID).Draw(rt, "written") {
		value := rapid.SampledFrom([]string{"", "1", "2"}).Draw(rt, "value")
		op := core.Put(key, value)
		switch rapid.IntRange(0, 5).Draw(rt, "op") {
		case 0, 1:
			op = core.Delete(key)
		case 2:
			op = core.DeleteAll(drawRange(rt, "deleted"))
		case 3:
			op = core.PutLeased(key, value)
		}
		// An operation that conflicts with an earlier one is left out.
		if kv.Check(core.Txn{Then: append(slices.Clone(ops), op)}) == nil {
			ops = append(ops, op)
		}
	}
	return ops
}

func drawRange(rt *rapid.T, label string) core.Range {
	key := rapid.SampledFrom(keys).Draw(rt, label)
	return core.Range{Key: key, End: rapid.SampledFrom(later(key)).Draw(rt, label+" end")}
}

// later are the possible ends of a range from key; the empty one makes it that key alone.
func later(key string) []string {
	found := []string{""}
	for _, end := range slices.Concat(keys, ends) {
		if end > key {
			found = append(found, end)
		}
	}
	return found
}
