package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// verbs are the commands that do not speak of one process.
var verbs = map[string]func(*stage, command) error{
	"fleet": (*stage).fleet, "limits": (*stage).setLimits, "table": (*stage).addTable,
	"run": (*stage).runFor, "advance": (*stage).advance, "flush": (*stage).flush, "client": (*stage).client,
	"engines": (*stage).engines, "puts": (*stage).puts, "kv": (*stage).kvIs, "lake": (*stage).lakeIs,
	"backup": (*stage).backup, "restore": (*stage).restore, "drop": (*stage).drop, "lose": (*stage).lose,
	"show": (*stage).show, "load": (*stage).load, "policy": (*stage).policy, "post": (*stage).post, "show-mode": (*stage).showMode,
	"gap": (*stage).gap, "corrupt": (*stage).corrupt, "busy": (*stage).busy, "number": (*stage).number,
	"blind": (*stage).blind, "finish": (*stage).finish, "kill-engine": (*stage).killEngine, "work": (*stage).work,
}

// fleet masters=1 workers=2 owned=events,logs drain=old slots=1 bytes=100 skew=10h
func (s *stage) fleet(c command) error {
	declares := core.Declaration{Owned: targets(c.set["owned"]), Draining: targets(c.set["drain"])}
	masters, workers := len(s.w.procs), 0
	for _, p := range s.w.procs {
		if p.name[0] == 'w' {
			workers++
		}
	}
	masters -= workers
	for i := range c.number("masters", 1) {
		p := s.w.addMaster(fmt.Sprintf("m%d", masters+i+1), declares, s.limits)
		p.clock.skew = core.WallMillis(c.duration(c.set["skew"], 0).Milliseconds())
	}
	for i := range c.number("workers", 1) {
		s.w.addWorker(fmt.Sprintf("w%d", workers+i+1), core.WorkerConfig{
			Declares: declares, Slots: c.number("slots", 1), Bytes: core.Bytes(c.number("bytes", 0)), Limits: s.limits, Pass: s.pass, Writes: writes(c), Self: selfMerge(c), Unsafe: c.set["unsafe"], Kinds: kinds(c),
		})
	}
	return nil
}

// writes=events/s001,events/s002,logs generations=8: what the workers merge themselves, from how many generations on
func writes(c command) (out []core.Written) {
	for _, t := range targets(c.set["writes"]) {
		name, shard, one := strings.Cut(string(t), "/")
		if n := len(out); one && n > 0 && out[n-1].Target == core.Target(name) {
			out[n-1].Shards = append(out[n-1].Shards, core.ShardID(shard))
			continue
		}
		written := core.Written{Target: core.Target(name)}
		if one {
			written.Shards = []core.ShardID{core.ShardID(shard)}
		}
		out = append(out, written)
	}
	return out
}

func selfMerge(c command) core.SelfMerge {
	if n := c.number("generations", 0); n > 0 {
		return core.SelfMerge{Trigger: core.Trigger{Generations: n}}
	}
	return core.SelfMerge{}
}

func targets(list string) []core.Target {
	var out []core.Target
	for name := range strings.SplitSeq(list, ",") {
		if name != "" {
			out = append(out, core.Target(name))
		}
	}
	slices.Sort(out)
	return out
}

// limits no-progress=5m cancel-grace=1m generations=2 size=10
func (s *stage) setLimits(c command) error {
	s.limits.NoProgress = c.duration(c.set["no-progress"], s.limits.NoProgress)
	s.limits.CancelGrace = c.duration(c.set["cancel-grace"], s.limits.CancelGrace)
	s.limits.Queue = c.duration(c.set["queue"], s.limits.Queue)
	s.limits.Execution = c.duration(c.set["execution"], s.limits.Execution)
	s.pass.Generations = c.number("generations", s.pass.Generations)
	s.pass.Size = core.Bytes(c.number("size", int(s.pass.Size)))
	s.pass.Largest = core.Bytes(c.number("largest", int(s.pass.Largest)))
	return nil
}

// table events shards=2 generations=3 size=10
func (s *stage) addTable(c command) error {
	t := newTable(c.number("shards", 1))
	for _, sh := range t.shards {
		for range c.number("generations", 0) {
			t.flush(sh)
		}
		for i := range sh.sstables {
			sh.sstables[i].size = core.Bytes(c.number("size", 1))
		}
	}
	s.w.lake.place(core.Target(c.object(0)), t)
	return nil
}

// run until=merged(events) limit=10m
func (s *stage) runFor(c command) error {
	cond, err := s.until(c.set["until"])
	if err != nil {
		return err
	}
	if limit := c.duration(c.set["limit"], 10*time.Minute); !s.w.run(limit, cond) {
		return fmt.Errorf("not so within %v; seen so far:\n%s", limit, s.seen())
	}
	return nil
}

// advance 11m
func (s *stage) advance(c command) error {
	d, err := time.ParseDuration(c.object(0))
	if err != nil {
		return err
	}
	s.w.run(d, never)
	return nil
}

func (s *stage) table(c command) (*table, error) {
	if t := s.w.lake.tables[core.Target(c.object(0))]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("no table %q", c.object(0))
}

// flush events shard=1 generations=2 size=10
func (s *stage) flush(c command) error {
	t, err := s.table(c)
	if err != nil {
		return err
	}
	for range c.number("generations", 1) {
		sh := t.shards[c.number("shard", 1)-1]
		t.flush(sh)
		sh.sstables[len(sh.sstables)-1].size = core.Bytes(c.number("size", 1))
	}
	return nil
}

// client events: one commit of a user's own program
func (s *stage) client(c command) error {
	t, err := s.table(c)
	if err != nil {
		return err
	}
	s.w.say("lake", "%s: v%d by a client", c.object(0), t.foreign())
	return nil
}

// engines silent | normal | deaf | strict | normal memory=30 | normal chokes=s003 | fail code=E_ENGINE_OOM shard=s001 other=s002
func (s *stage) engines(c command) error {
	if c.set["on"] != "" {
		return s.enginesOn(c)
	}
	s.w.engines = engineScript{
		silent: c.object(0) == "silent", deaf: c.object(0) == "deaf", strict: c.object(0) == "strict",
		lying: c.object(0) == "lying", memory: core.Bytes(c.number("memory", 0)), chokes: core.ShardID(c.set["chokes"]),
	}
	if c.object(0) == "fail" {
		s.w.engines.fail = core.Failure{
			Code: core.Code(c.set["code"]), Detail: "as the scenario wants it",
			Shard: core.ShardID(c.set["shard"]), Other: core.ShardID(c.set["other"]),
		}
	}
	return nil
}

// puts hold: storage keeps base manifests back; puts pass: it keeps those, and new ones go through;
// puts release: it lets all of them go, in order
func (s *stage) puts(c command) error {
	switch c.object(0) {
	case "hold":
		s.w.holding = true
	case "pass":
		s.w.holding = false
	case "release":
		held := s.w.heldPut
		s.w.heldPut, s.w.holding = nil, false
		for _, put := range held {
			put()
		}
	default:
		return fmt.Errorf("puts %q", c.object(0))
	}
	return nil
}

// lose put | kv: the next answer of that kind gets lost after the request took effect; lose put before:
// the request itself; lose kv after=2: two later
func (s *stage) lose(c command) error {
	kind, before, skip := c.object(0), c.object(1) == "before", c.number("after", 0)
	outer := s.w.faults.lose
	s.w.faults.lose = func(k, who string) (bool, bool) {
		if k != kind || skip < 0 {
			return outer(k, who)
		}
		skip--
		return skip < 0, skip < 0 && !before
	}
	return nil
}

// gap events shard=2: the first generation of that shard is gone; mended=yes: it is back
func (s *stage) gap(c command) error {
	t, err := s.table(c)
	if err != nil {
		return err
	}
	sh := t.shards[c.number("shard", 1)-1]
	if c.set["mended"] != "" {
		sh.sstables, t.lost = append([]sstable{t.lost}, sh.sstables...), sstable{}
	} else {
		t.lost, sh.sstables = sh.sstables[0], sh.sstables[1:]
	}
	s.w.checks.aside[core.Target(c.object(0))] = c.set["mended"] == ""
	return nil
}

// corrupt events shard=2: the newest manifest of that shard can't be read
func (s *stage) corrupt(c command) error {
	t, err := s.table(c)
	if err == nil {
		t.corrupt = t.shards[c.number("shard", 1)-1].id
	}
	return err
}

// busy events shard=1 for=90m every=5m: that shard is written and flushed all the time
func (s *stage) busy(c command) error {
	t, err := s.table(c)
	if err != nil {
		return err
	}
	every := c.duration(c.set["every"], time.Minute)
	for range int(c.duration(c.set["for"], time.Minute) / every) {
		t.flush(t.shards[c.number("shard", 1)-1])
		s.w.run(every, never)
	}
	return nil
}

// engine is the engine of a table that lives now.
func (s *stage) engine(c command) (*engine, error) {
	for _, p := range s.w.procs {
		if en := p.engines[core.Target(c.object(0))]; en != nil && !en.dead {
			return en, nil
		}
	}
	return nil, fmt.Errorf("no engine of %s runs", c.object(0))
}

// finish events: a silent engine works after all
func (s *stage) finish(c command) error {
	en, err := s.engine(c)
	if err == nil {
		s.w.plan(en)
	}
	return err
}

// kill-engine events: as the kernel does with one that takes too much memory
func (s *stage) killEngine(c command) error {
	en, err := s.engine(c)
	if err == nil {
		s.w.endEngine(en, core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 9"})
	}
	return err
}

// work events every=5s for=5m the engine reports completed work; same=yes: it reports the same again and again;
// step=index allowance=30m: it begins with a step that may take so long without a word
func (s *stage) work(c command) error {
	en, err := s.engine(c)
	if err != nil {
		return err
	}
	every := c.duration(c.set["every"], time.Second)
	until := s.w.now.Add(c.duration(c.set["for"], time.Minute))
	for n := int64(1); s.w.now < until && !en.dead; {
		if n++; c.set["same"] != "" {
			n = 1
		}
		s.w.deliver(en.proc, core.EngineReported{Target: en.exec.Target, Execution: en.exec.ID, Counters: core.Counters{
			Rows: n, Step: c.set["step"], Allowance: c.duration(c.set["allowance"], 0).Milliseconds(),
		}})
		s.w.run(every, never)
	}
	return nil
}

// number events 2: some other KV's execution has taken that number in the lake
func (s *stage) number(c command) error {
	n, err := strconv.ParseUint(c.object(1), 10, 64)
	if err != nil {
		return err
	}
	_, f := s.w.lake.number(core.Target(c.object(0)), core.Number{N: n, Execution: "another KV's"})
	if !f.OK() {
		return f
	}
	return nil
}

// kv down | up
func (s *stage) kvIs(c command) error {
	s.w.kvDown = c.object(0) == "down"
	if !s.w.kvDown {
		s.w.changed()
	}
	return nil
}

// lake down | up
func (s *stage) lakeIs(c command) error {
	s.w.lake.down = c.object(0) == "down"
	return nil
}

// backup events | kv
func (s *stage) backup(c command) error {
	if c.object(0) == "kv" {
		s.kv = s.w.kv.Clone()
		return nil
	}
	t, err := s.table(c)
	if err != nil {
		return err
	}
	if s.backups == nil {
		s.backups = map[core.Target]*table{}
	}
	s.backups[core.Target(c.object(0))] = t.clone()
	return nil
}

// restore events: the lake's table as it was backed up, with the numbers of executions as they are, which
// lie elsewhere in the lake; restore kv: the KV, with all processes started again
func (s *stage) restore(c command) error {
	if c.object(0) != "kv" {
		name := core.Target(c.object(0))
		numbers := s.w.lake.tables[name].numbers
		s.w.lake.place(name, s.backups[name].clone())
		s.w.lake.tables[name].numbers = numbers
		return nil
	}
	for _, p := range s.w.procs {
		s.w.kill(p)
	}
	s.w.run(2*leaseTTL, never)
	s.kv.observe = s.w.kv.observe
	before := map[string]core.Record{}
	s.kv.remove(core.MasterRange(), before)
	s.kv.remove(core.WorkerRange(), before)
	s.w.kv = s.kv
	for _, p := range s.w.procs {
		s.w.boot(p)
	}
	return nil
}

// drop events: the table is gone, and so is what we know of its rows
func (s *stage) drop(c command) error {
	delete(s.w.lake.tables, core.Target(c.object(0)))
	return nil
}

// policy events generations=4 seconds=0 pass=2: what its policy says before anybody lives
func (s *stage) policy(c command) error {
	s.w.kv.Apply(core.Txn{Name: "policy", Then: []core.Op{core.Put(core.PolicyKey(core.Target(c.object(0))), core.Encode(c.policy()))}}, "")
	s.w.changed()
	return nil
}

// load w1: the room that a worker advertises
func (s *stage) load(c command) error {
	l := Get[core.Load](s.w.kv, core.LoadKey(core.Endpoint(c.object(0))))
	s.w.say("=", "%s: accepting %v, active %d, %d slots and %d bytes free", c.object(0), l.Accepting, l.Active, l.Slots, l.Bytes)
	return nil
}

// post events: a poster that has nothing new to say posts what the record says already
func (s *stage) post(c command) error {
	t := core.Target(c.object(0))
	rec := s.w.kv.Get(core.DemandKey(t))
	demand := Get[core.Demand](s.w.kv, core.DemandKey(t))
	again, changed := demand.Add(wallEpoch*2, 0, demand.Shards, "poster")
	if changed {
		s.w.kv.Apply(core.PostDemand(core.Seen[core.Demand]{Key: rec.Key, Value: demand, Mod: rec.Mod}, t, again), "")
		s.w.changed()
	}
	return nil
}

// show events: the table, its owner, its budget and its demand
func (s *stage) show(c command) error {
	name := core.Target(c.object(0))
	if t := s.w.lake.tables[name]; t != nil {
		s.w.say("=", "%s: %s", name, t.describe())
	}
	if e := Get[core.Execution](s.w.kv, core.ExecutionKey(name)); e.ID != "" {
		s.w.say("=", "%s: execution %d (%s) on %s", name, e.Number, e.Phase, e.Endpoint)
	}
	for _, r := range s.w.kv.Read(core.FailureRange(name)) {
		f := decode[core.FailureRecord](r)
		bad := ""
		for _, b := range f.BadShards {
			bad += fmt.Sprintf(", leaves out %s", b.Shard)
			if b.Alone {
				bad += fmt.Sprintf(" (alone for %v)", time.Duration(b.Delay)*time.Millisecond)
			}
		}
		for _, p := range f.Suspects {
			bad += fmt.Sprintf(", suspects %s", p.Shard)
		}
		if f.PassBytes > 0 {
			bad += fmt.Sprintf(", %d bytes a pass", f.PassBytes)
		}
		s.w.say("=", "%s: budget of %s: %d attempts, %s, retry %v, attention %v%s", name, f.Endpoint, f.Attempts, cmp.Or(string(f.Code), "no failure"), time.Duration(f.Delay)*time.Millisecond, f.Attention, bad)
	}
	if d := Get[core.Demand](s.w.kv, core.DemandKey(name)); !d.Empty() {
		s.w.say("=", "%s: demand for %s", name, strconv.Itoa(len(d.Shards))+" shards")
	}
	for _, r := range s.w.kv.Read(core.HistoryRange(name)) {
		h := decode[core.History](r)
		how := "merged"
		if h.Execution.Kind.Maintains() {
			how = string(h.Execution.Kind) + " is done"
		}
		if !h.Merged {
			how = string(h.Failure.Code)
		}
		s.w.say("=", "%s: execution %d on %s%s: %s", name, h.Execution.Number, h.Execution.Endpoint, writer(h.Execution), how)
	}
	return nil
}
