package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

// observed is a world without processes whose objects a test handles itself, beside the history of it.
type observed struct {
	*world
	h *history
}

func observe() observed {
	w := newWorld()
	w.lake.place("events", newTable(1))
	h := newHistory(w, 50*time.Millisecond, nil)
	w.history = h
	return observed{w, h}
}

// put is a transaction that writes one key, if it was last written at rev.
func put(key string, rev core.Revision) core.Commit {
	return core.Commit{Txn: core.Txn{Name: "put", If: []core.Cond{core.Unchanged(key, rev)}, Then: []core.Op{core.Put(key, "x")}}}
}

// apply lets the KV carry out a request and reply.
func (o observed) apply(op *operation) core.Committed {
	reply := core.Committed{Outcome: core.NotApplied}
	if o.kv.Apply(op.input.(kvInput).effect.(core.Commit).Txn, op.client) {
		reply.Outcome = core.Applied
	}
	reply.Revision = o.kv.rev
	o.h.replied(op, reply)
	return reply
}

func (o observed) all() core.ReadDone {
	return core.ReadDone{OK: true, Revision: o.kv.rev, Records: o.kv.Read(core.Everything())}
}

func (o observed) read() *operation {
	return o.h.begin("reader", core.Read{Ranges: []core.Range{core.Everything()}})
}

func key(n int) string { return fmt.Sprintf("%sk%04d", core.Root, n) }

// attemptOn is a commit of an execution of events.
func attemptOn(o observed, e core.ExecutionID, v core.Version) *attempt {
	a := &attempt{engine: &engine{exec: core.Execution{ID: e}}, target: "events", table: o.lake.tables["events"]}
	a.body.Version = v
	return a
}

// land puts the commit into the table, whatever its execution may do.
func (o observed) land(a *attempt) {
	m := o.lake.tables["events"].head().BaseManifest
	m.Version = a.body.Version
	o.lake.tables["events"].publish(m, map[string]string{}, a.by())
}

func TestHistoriesAreJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(o observed)
		want string // of the problem; "" for none
	}{
		"a thousand requests of which none was ever answered": {func(o observed) {
			for n := range 1000 {
				op := o.h.begin("w1", put(key(n%50), core.Revision(n%7)))
				switch n % 3 {
				case 0:
					o.h.lost(op)
				default:
					o.apply(op)
				}
			}
		}, ""},
		"a request that is told to be applied and never came": {func(o observed) {
			op := o.h.begin("w1", put(key(1), 0))
			o.h.lost(op)
			o.h.answered(op, core.Committed{Outcome: core.Applied, Revision: 2})
		}, "the history contradicts itself"},
		"a request that is told another revision than its own": {func(o observed) {
			op := o.h.begin("w1", put(key(1), 0))
			reply := o.apply(op)
			reply.Revision++
			o.h.answered(op, reply)
		}, "the history contradicts itself"},
		"a request that takes effect after its answer": {func(o observed) {
			op := o.h.begin("w1", put(key(1), 0))
			o.now++
			o.h.answered(op, core.Committed{Outcome: core.Applied, Revision: 2})
			o.now++
			o.apply(op)
		}, "the history contradicts itself"},
		"a KV that overlooks a comparison": {func(o observed) {
			o.apply(o.h.begin("w1", put(key(1), 0)))
			op := o.h.begin("w2", put(key(1), 0))
			o.kv.Apply(core.Txn{Then: []core.Op{core.Put(key(1), "x")}}, "")
			reply := core.Committed{Outcome: core.Applied, Revision: o.kv.rev}
			o.h.replied(op, reply)
			o.h.answered(op, reply)
		}, "the history of the KV contradicts its model"},
		"a KV that shows what was, long after the write was answered": {func(o observed) {
			before := o.all()
			op := o.h.begin("w1", put(key(1), 0))
			o.h.answered(op, o.apply(op))
			o.now++
			r := o.read()
			o.h.replied(r, before)
			o.h.answered(r, before)
		}, "the history of the KV contradicts its model"},
		"a read that shows what was while the write was under way, though it came after it": {func(o observed) {
			before := o.all()
			op, r := o.h.begin("w1", put(key(1), 0)), o.read()
			o.now++
			reply := o.apply(op)
			o.h.replied(r, before)
			o.now++
			o.h.answered(op, reply)
			o.h.answered(r, before)
		}, ""},
		"a commit that lands after its execution is recovered": {func(o observed) {
			a := attemptOn(o, "e1", 2)
			op := o.h.put(a)
			o.h.recovered(core.Txn{Name: "finish-recovery", Then: []core.Op{core.Put(core.ExecutionKey("events"), core.Encode(core.Execution{ID: "e1", Target: "events"}))}})
			o.now++
			o.h.saw(&process{id: "w2"}, "events", o.lake.tables["events"].head())
			o.now++
			o.land(a)
			o.h.stored(op, a, core.Applied)
		}, "the history of the versions of events contradicts its model"},
		"a commit that lands after it was told not to have": {func(o observed) {
			a := attemptOn(o, "e1", 3)
			op := o.h.put(a)
			o.lake.tables["events"].foreign()
			o.lake.tables["events"].foreign()
			o.h.heard(op, core.NotApplied)
			o.h.stored(op, a, core.Applied)
		}, "the history contradicts itself"},
		"a commit that is sent twice, of which the second finds the first": {func(o observed) {
			a := attemptOn(o, "e1", 2)
			first, second := o.h.put(a), o.h.put(a)
			o.land(a)
			o.h.stored(first, a, core.Applied)
			o.h.stored(second, a, core.NotApplied)
			o.h.heard(second, core.Applied)
		}, ""},
		"demand that a release forgets": {func(o observed) {
			posted := core.Demand{Shards: []core.ShardID{"s001", "s002"}}
			op := o.h.begin("m1", core.Commit{Txn: core.PostDemand(core.Seen[core.Demand]{Key: core.DemandKey("events")}, "events", posted)})
			o.apply(op)
			e := core.Execution{ID: "e1", Target: "events", Shards: []core.ShardID{"s001"}, Plan: []core.ShardPlan{{Shard: "s001", First: 1, Last: 1}}}
			rest := core.Put(core.DemandKey("events"), core.Encode(core.Demand{Shards: []core.ShardID{"s002"}}))
			compare := core.Unchanged(core.DemandKey("events"), o.kv.rev)
			o.apply(o.h.begin("m1", core.Commit{Txn: core.Txn{Name: "reserve", If: []core.Cond{compare}, Then: []core.Op{core.Put(core.ExecutionKey("events"), core.Encode(e)), rest}}}))
			compare.Rev = o.kv.rev
			o.apply(o.h.begin("m1", core.Commit{Txn: core.Txn{Name: "release", If: []core.Cond{compare}, Then: []core.Op{
				core.Delete(core.ExecutionKey("events")), rest, core.Put(core.HistoryKey("events", 1), core.Encode(core.History{Execution: e})),
			}}}))
		}, "the history of the demand for events contradicts its model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := observe()
			o.kv.observe = nil // what the transactions of a test do to invariants is not the question
			c.do(o)
			verdict, problem := o.h.verdict()
			if (c.want == "") != (verdict == Clean) || !strings.HasPrefix(problem, c.want) {
				t.Errorf("expected %q, got %s: %s", c.want, verdict, problem)
			}
		})
	}
}

// A search that does not end is no verdict: here any of many requests may have been applied before a read that
// nothing explains.
func TestASearchThatRunsOutOfItsTimeIsAResultOfItsOwn(t *testing.T) {
	t.Parallel()
	o := observe()
	var ops []*operation
	for n := range 60 {
		ops = append(ops, o.h.begin("w1", put(key(n), 0)))
	}
	o.now++
	wrong := o.all()
	wrong.Records = []core.Record{{Key: key(1), Value: "nobody has written this", Mod: 40}}
	wrong.Revision = 40
	r := o.read()
	o.h.replied(r, wrong)
	o.h.answered(r, wrong)
	if verdict, problem := o.h.verdict(); verdict != Timeout {
		t.Errorf("expected that the search runs out of its time, got %s: %s", verdict, problem)
	}
	if len(o.h.kv.flying) != len(ops) {
		t.Errorf("%d requests are under way, expected %d", len(o.h.kv.flying), len(ops))
	}
}
