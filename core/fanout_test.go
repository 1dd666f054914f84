package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fanOutCase is a fleet with its budgets and a demand, as chance has it.
type fanOutCase struct {
	m     *Master
	tr    *track
	now   Moment
	asked Demand
}

var (
	fanOutShards  = []ShardID{"s1", "s2", "s3", "s4"}
	fanOutWorkers = []Endpoint{"w1", "w2", "w3"}
)

func drawFanOut(t *rapid.T) fanOutCase {
	c := fanOutCase{now: Moment{Mono: MonoTime(10 * time.Hour)}}
	var records []Record
	put := func(key string, v any) { records = append(records, Record{Key: key, Value: Encode(v), Mod: 5}) }
	put(MasterKey("m1"), MasterRecord{ID: "m1", Declares: Declaration{Owned: []Target{"db"}}, Capabilities: []Capability{OwnedMerge}})
	for _, e := range fanOutWorkers {
		if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
			continue
		}
		w := WorkerRecord{Endpoint: e, Slots: 1, Bytes: 100, Capabilities: []Capability{OwnedMerge}}
		if rapid.IntRange(0, 5).Draw(t, "says nothing") > 0 {
			w.Declares.Owned = []Target{"db"}
		}
		if rapid.IntRange(0, 5).Draw(t, "unsafe") == 0 {
			w.Unsafe = "its lake overwrites"
		}
		switch shards := rapid.SliceOfNDistinct(rapid.SampledFrom(fanOutShards), 0, 3, rapid.ID).Draw(t, "writes"); {
		case len(shards) > 0:
			slices.Sort(shards)
			w.Writes = []Written{{Target: "db", Shards: shards}}
		case rapid.Bool().Draw(t, "writes all"):
			w.Writes = []Written{{Target: "db"}}
		}
		put(WorkerKey(e), w)
		put(LoadKey(e), Load{Endpoint: e, Accepting: rapid.IntRange(0, 4).Draw(t, "drained") > 0, Slots: rapid.IntRange(0, 1).Draw(t, "slots"), Bytes: 100})
	}
	c.m = NewMaster(MasterConfig{ID: "m1"})
	c.tr = c.m.track("db")
	c.tr.sights = sights{}
	for _, e := range append([]Endpoint{Unowned, "gone"}, fanOutWorkers...) {
		if rapid.Bool().Draw(t, "no record") {
			continue
		}
		f := FailureRecord{
			Target: "db", Endpoint: e, Attempts: rapid.IntRange(0, 3).Draw(t, "attempts"), Queued: rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "queued"),
			Code: CodeStorage, Class: Transient, Delay: rapid.SampledFrom([]int64{0, 2000, 3_600_000}).Draw(t, "delay"),
		}
		if rapid.IntRange(0, 3).Draw(t, "config") == 0 {
			f.Code = rapid.SampledFrom([]Code{CodeEngineMissing, CodeTableMissing, CodeSSTableCorrupt}).Draw(t, "code")
			f.Class = f.Code.Class()
		}
		for _, s := range fanOutShards {
			if rapid.Bool().Draw(t, "touched") {
				f.Touched = append(f.Touched, ShardPlan{s, 1, 2})
			}
			if rapid.IntRange(0, 5).Draw(t, "bad") == 0 {
				f.BadShards = append(f.BadShards, BadShard{Shard: s, Delay: 3_600_000})
			}
		}
		put(FailureKey("db", e), f)
		at := c.now.Mono.Add(-time.Duration(rapid.SampledFrom([]int{1, 10, 3700, 9000}).Draw(t, "seen")) * time.Second)
		sight := sight{mod: 5, at: at}
		for _, b := range f.BadShards {
			sight.bad = append(sight.bad, badSight{b, at})
		}
		c.tr.sights[FailureKey("db", e)] = sight
		past := map[bool]MonoTime{true: c.now.Mono - 1, false: c.now.Mono + 1}
		if rapid.Bool().Draw(t, "was found without room") {
			c.tr.busy[e] = alarmAt(past[rapid.Bool().Draw(t, "for long")])
		}
		if rapid.Bool().Draw(t, "has yielded") {
			c.tr.yielding[e] = alarmAt(past[rapid.Bool().Draw(t, "for long")])
		}
	}
	c.m.view = ViewOf(5, records)
	for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom(fanOutShards), 0, 4, rapid.ID).Draw(t, "asked") {
		c.asked, _ = c.asked.Add(1, rapid.Uint64Range(0, 3).Draw(t, "turn"), []ShardID{s}, "r")
	}
	return c
}

// naively is the endpoint of one shard and whether it may be tried, from the rules as they are told.
func (c fanOutCase) naively(s ShardID) (e Endpoint, due bool) {
	tv := c.m.view.Target("db")
	e, best := Unowned, uint64(0)
	named := false
	for _, w := range c.m.view.Workers {
		f := tv.Failure("db", w.Value.Endpoint).Value
		seen := c.now.Mono.Since(c.tr.sights[FailureKey("db", w.Value.Endpoint)].at)
		load := Load{}
		for _, l := range c.m.view.Loads {
			if l.Value.Endpoint == w.Value.Endpoint {
				load = l.Value
			}
		}
		bad := f.Queued > 0 || f.Attempts >= 2 && f.Class == Transient || f.Attempts >= 1 && f.Code == CodeEngineMissing
		waitedFor := c.tr.busy[w.Value.Endpoint]
		switch {
		case w.Value.Declares.Says("db") != Owned, w.Value.Unsafe != "", !load.Accepting:
			continue
		case bad && seen < time.Hour+time.Duration(f.Delay)*time.Millisecond:
			continue
		case load.Slots == 0 && waitedFor.Set && waitedFor.At <= c.now.Mono:
			continue
		}
		for _, written := range w.Value.Writes {
			names, all := slices.Contains(written.Shards, s), len(written.Shards) == 0
			heavier := e == Unowned || weight("db", w.Value.Endpoint) > best
			if names && (!named || heavier) || all && !named && heavier {
				e, best, named = w.Value.Endpoint, weight("db", w.Value.Endpoint), names
			}
		}
	}
	due = true
	for _, f := range tv.Failures {
		r, seen := f.Value, c.now.Mono.Since(c.tr.sights[f.Key].at)
		about := r.Endpoint == e || len(r.Touched) == 0 || slices.Contains(r.Touched, ShardPlan{s, 1, 2})
		if about && seen < time.Duration(r.Delay)*time.Millisecond {
			due = false
		}
		for _, b := range r.BadShards {
			if b.Shard == s && seen < time.Hour {
				due = false
			}
		}
	}
	return e, due
}

// before reports whether a has its turn before b.
func before(a, b share) bool {
	switch aYields, bYields := a.attempts > 0 && a.yields, b.attempts > 0 && b.yields; {
	case aYields != bYields:
		return bYields
	case aYields && a.attempts != b.attempts:
		return a.attempts < b.attempts
	case a.turn != b.turn:
		return a.turn < b.turn
	}
	return a.endpoint < b.endpoint
}

func TestTheDemandIsSharedOutAsTheRulesSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawFanOut(t)
		patient := map[Endpoint]bool{}
		for e, a := range c.tr.yielding {
			patient[e] = a.At > c.now.Mono
		}
		shares := c.m.shares(c.now, c.tr, c.m.view.Target("db"), c.asked)
		var shared []ShardID
		for i, sh := range shares {
			shared = append(shared, sh.shards...)
			turn := uint64(99)
			for _, s := range sh.shards {
				e, due := c.naively(s)
				if e != sh.endpoint || due != slices.Contains(sh.due, s) {
					t.Fatalf("%s goes to %s and is due: %v; expected %s and %v", s, sh.endpoint, slices.Contains(sh.due, s), e, due)
				}
				turn = min(turn, c.asked.Turn(s))
			}
			if sh.turn != turn {
				t.Fatalf("%s was asked for after %d, expected %d", sh.endpoint, sh.turn, turn)
			}
			if was, known := patient[sh.endpoint]; len(sh.due) > 0 && sh.attempts > 0 && sh.yields != (!known || was) {
				t.Fatalf("%s yields: %v; it was seen to be due: %v, and its patience lasts: %v", sh.endpoint, sh.yields, known, was)
			}
			for _, later := range shares[i+1:] {
				if before(later, sh) {
					t.Fatalf("%+v comes after %+v", later, sh)
				}
			}
		}
		if slices.Sort(shared); !slices.Equal(shared, c.asked.Shards) && len(shared)+len(c.asked.Shards) > 0 {
			t.Fatalf("%v was asked for, and %v was shared out", c.asked.Shards, shared)
		}
	})
}

// A table that is written all the time has always something healthy to do. A failed endpoint comes to its turn
// all the same.
func TestAFailedEndpointYieldsForABoundedTime(t *testing.T) {
	t.Parallel()
	m := NewMaster(MasterConfig{ID: "m1", Limits: Limits{Queue: time.Minute}})
	tr := m.track("db")
	m.view = ViewOf(5, []Record{{Key: FailureKey("db", Unowned), Value: Encode(FailureRecord{Target: "db", Endpoint: Unowned, Attempts: 1}), Mod: 5}})
	var asked Demand
	asked, _ = asked.Add(1, 3, []ShardID{"s1"}, "r")
	for i, yields := range []bool{true, true, false, false} {
		at := Moment{Mono: MonoTime(time.Duration(i) * 40 * time.Second)}
		if got := m.shares(at, tr, m.view.Target("db"), asked); got[0].yields != yields {
			t.Errorf("%v after it was due first: expected yields to be %v", time.Duration(at.Mono), yields)
		}
	}
	late := share{endpoint: "w9", turn: 3, attempts: 5}
	shares := []share{{endpoint: "w1", turn: 4}, {endpoint: "w2", turn: 2}, {endpoint: "w3", turn: 1, attempts: 2, yields: true}, late}
	inOrder(shares)
	for i, want := range []Endpoint{"w2", "w9", "w1", "w3"} {
		if shares[i].endpoint != want {
			t.Errorf("turn %d: expected %s, got %s", i+1, want, shares[i].endpoint)
		}
	}
}

// New names start nothing over: the wait of a shard, and its row of failures, go on under whatever name.
func TestAShardThatChangesEndpointsKeepsItsWaitAndItsRowOfFailures(t *testing.T) {
	t.Parallel()
	f := Failure{Code: CodeEngineKilled}
	e := Execution{Plan: []ShardPlan{{"s1", 1, 2}}}
	var seen []Seen[FailureRecord]
	for i, want := range []int64{2, 2, 30, 60, 120, 240, 480, 900} {
		r := FailureRecord{Target: "db", Endpoint: Endpoint(fmt.Sprintf("w%d", i))}.following(e, f, Table{}, seen).Charged(f, 7)
		if r.Attempts != 1 || r.Delay != want*1000 {
			t.Errorf("failure %d, the first of its name: %d attempts and a wait of %d ms, expected %d s", i+1, r.Attempts, r.Delay, want)
		}
		if r.concerns("other", "s1") != true || r.concerns("other", "s2") {
			t.Errorf("%+v is about s1, whoever has it, and not about s2 of others", r)
		}
		seen = append(seen, Seen[FailureRecord]{Key: FailureKey("db", r.Endpoint), Value: r, Mod: 1})
	}
	merged := Table{Base: BaseManifest{Marks: Marks{{"s1", 2}}}}
	next := FailureRecord{Endpoint: "w9"}.following(Execution{Plan: []ShardPlan{{"s1", 3, 3}}}, f, merged, seen).Charged(f, 7)
	if next.Delay != 2000 {
		t.Errorf("somebody has merged what failed: expected a wait of 2 s, got %d ms", next.Delay)
	}
	if whole := (FailureRecord{Endpoint: "w1"}).following(e, Failure{Code: CodeTableMissing}, Table{}, nil); !whole.concerns("w2", "s9") {
		t.Errorf("a missing table is everybody's: %+v", whole)
	}
}
