package core_test

import (
	"testing"

	"github.com/sluice-data/sluice/core"
)

// A running execution that plans generations 2 and 3 of s1 on v5; another shard, s2, is left alone.
func runningMerge() core.Execution {
	return core.Execution{
		ID: "e", Number: 1, Target: "events", Kind: core.KindMerge, Phase: core.Running, TableID: "t1", Scheme: core.V2,
		BaseVersion: 5, Marks: core.Marks{{Shard: "s1", Generation: 1}, {Shard: "s2", Generation: 4}},
		Plan: []core.ShardPlan{{Shard: "s1", First: 2, Last: 3}},
	}
}

// The commit that it makes when nothing comes in between: v6, read at v5, with all marks of its plan.
func goodIntent() core.CommitIntent {
	latest := core.BaseManifest{
		Version: 5, Scheme: core.V2, TableID: "t1", MemWAL: true, PrimaryKey: true,
		Marks: core.Marks{{Shard: "s1", Generation: 1}, {Shard: "s2", Generation: 4}},
	}
	body := latest
	body.Version, body.ReadVersion, body.Operation = 6, 5, core.OpUpdate
	body.Marks = body.Marks.With("s1", 3)
	return core.CommitIntent{
		Target: "events", Execution: "e", Name: core.ManifestName{Version: 6, Scheme: core.V2}, Latest: latest, Body: body,
	}
}

func TestJudgeAnExecutionsCommit(t *testing.T) {
	t.Parallel()
	type situation struct {
		e       core.Execution
		landed  []core.Version
		attempt core.Attempt
		in      core.CommitIntent
	}
	for name, c := range map[string]struct {
		change func(*situation)
		rule   core.Rule // empty: it may go on
		status int
	}{
		"the planned commit goes on": {func(*situation) {}, "", 0},
		"a commit without marks goes on, as the first of two": {func(s *situation) {
			s.in.Body.Marks = s.in.Latest.Marks
		}, "", 0},
		"marks of other shards that a client has moved stay": {func(s *situation) {
			s.in.Latest.Marks = s.in.Latest.Marks.With("s3", 1)
			s.in.Body.Marks = s.in.Body.Marks.With("s3", 1)
		}, "", 0},
		"another table's credential": {func(s *situation) { s.in.Target = "logs" }, core.RuleNotYours, 403},
		"an execution that is frozen": {func(s *situation) {
			s.e.Phase = core.Recovering
		}, core.RuleNotRunning, 403},
		"version 0": {func(s *situation) { s.in.Name.Version = 0 }, core.RuleNextOnly, 403},
		"a version that was made on an older one than that before it": {func(s *situation) {
			s.attempt.Rebasable, s.in.Body.ReadVersion = true, 4
		}, core.RuleDirectSuccess, 403},
		"a version after a gap": {func(s *situation) {
			s.in.Name.Version, s.in.Body.Version, s.in.Body.ReadVersion = 9, 9, 8
		}, core.RuleNextOnly, 403},
		"a version that exists": {func(s *situation) {
			s.in.Name.Version, s.in.Body.Version = 5, 5
		}, core.RuleOccupied, 412},
		"the other naming scheme": {func(s *situation) { s.in.Name.Scheme = core.V1 }, core.RuleNamingScheme, 403},
		"a body that says another version than its name": {func(s *situation) {
			s.in.Body.Version = 7
		}, core.RuleBodyVersion, 403},
		"a lake below what Start saw":    {func(s *situation) { s.e.BaseVersion = 9 }, core.RuleBehindStart, 403},
		"a body with another table's id": {func(s *situation) { s.in.Body.TableID = "t2" }, core.RuleTableID, 403},
		"a base with another table's id": {func(s *situation) { s.in.Latest.TableID = "t2" }, core.RuleTableID, 403},
		"a body without an id":           {func(s *situation) { s.in.Body.TableID = "" }, core.RuleTableID, 403},
		"writer flags that we don't know": {func(s *situation) {
			s.in.Body.UnknownFlags = 64
		}, core.RuleUnknownFlags, 403},
		"a body that loses the MemWAL index": {func(s *situation) { s.in.Body.MemWAL = false }, core.RuleMemWAL, 403},
		"a base that was overwritten, and has no MemWAL index": {func(s *situation) {
			s.in.Latest.MemWAL, s.in.Latest.Marks = false, nil
		}, core.RuleMemWAL, 403},
		"an append": {func(s *situation) { s.in.Body.Operation = core.OpAppend }, core.RuleOperation, 403},
		"a transaction that can't be read": {func(s *situation) {
			s.in.Body.Operation = ""
		}, core.RuleOperation, 403},
		"a delete, as the second of two": {func(s *situation) { s.in.Body.Operation = core.OpDelete }, "", 0},
		"a cleanup, which commits nothing": {func(s *situation) {
			s.e.Kind, s.e.Plan = core.KindCleanup, nil
			s.in.Body.Marks = s.in.Latest.Marks
		}, core.RuleOperation, 403},
		"a compaction that leaves the marks": {func(s *situation) {
			s.e.Kind, s.e.Plan = core.KindCompact, nil
			s.in.Body.Operation, s.in.Body.Marks = core.OpRewrite, s.in.Latest.Marks
		}, "", 0},
		"a compaction that raises a mark": {func(s *situation) {
			s.e.Kind, s.e.Plan, s.in.Body.Operation = core.KindCompact, nil, core.OpRewrite
		}, core.RuleMarks, 403},
		"marks beyond the plan": {func(s *situation) {
			s.in.Body.Marks = s.in.Body.Marks.With("s1", 4)
		}, core.RuleMarks, 403},
		"marks of half the plan": {func(s *situation) {
			s.in.Body.Marks = s.in.Body.Marks.With("s1", 2)
		}, core.RuleMarks, 403},
		"a mark of a shard that is not planned": {func(s *situation) {
			s.in.Body.Marks = s.in.Body.Marks.With("s2", 5)
		}, core.RuleMarks, 403},
		"a base whose planned marks moved since Start": {func(s *situation) {
			s.in.Latest.Marks = s.in.Latest.Marks.With("s1", 2)
		}, core.RuleMarks, 403},
		"a base whose planned marks went back since Start": {func(s *situation) {
			s.in.Latest.Marks = s.in.Latest.Marks.With("s1", 0)
		}, core.RuleMarks, 403},
		"tombstones with somebody's commit in between, which Lance has rebased over": {func(s *situation) {
			s.attempt.Read = 4 // the body says 5
		}, core.RuleDirectSuccess, 403},
		"tombstones of an engine that has declared nothing": {func(s *situation) {
			s.attempt = core.Attempt{}
		}, core.RuleDirectSuccess, 403},
		"no tombstones with somebody's commit in between": {func(s *situation) {
			s.attempt = core.Attempt{Read: 4, Rebasable: true}
		}, "", 0},
		"a marked delete right after its own upsert": {func(s *situation) {
			s.landed, s.e.BaseVersion = []core.Version{5}, 4
		}, "", 0},
		"a marked delete that was read before its own upsert": {func(s *situation) {
			s.landed, s.in.Body.ReadVersion, s.attempt.Rebasable = []core.Version{5}, 4, true
		}, core.RuleDirectSuccess, 403},
		"a marked delete with somebody's commit after its own upsert": {func(s *situation) {
			s.landed, s.e.BaseVersion, s.attempt.Rebasable = []core.Version{4}, 3, true
		}, core.RuleDirectSuccess, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := situation{e: runningMerge(), attempt: core.Attempt{Read: 5}, in: goodIntent()}
			c.change(&s)
			v := core.Judge(s.e, s.landed, s.attempt, s.in)
			if v.Rule != c.rule || v.Status != c.status {
				t.Errorf("expected %q (%d), got %q (%d): %s", c.rule, c.status, v.Rule, v.Status, v.Detail)
			}
		})
	}
}

func TestJudgeAClientsCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode   core.Mode
		change func(*core.CommitIntent)
		rule   core.Rule
		status int
	}{
		"an ordinary commit goes on": {core.Owned, func(in *core.CommitIntent) { in.Body.Marks = in.Latest.Marks }, "", 0},
		"the first version of a table, in either scheme": {core.Owned, func(in *core.CommitIntent) {
			in.Latest, in.Name, in.Body.Version, in.Body.Marks = core.BaseManifest{}, core.ManifestName{Version: 1, Scheme: core.V1}, 1, nil
		}, "", 0},
		"another id is the user's own business": {core.Owned, func(in *core.CommitIntent) {
			in.Body.TableID, in.Body.Marks = "", in.Latest.Marks
		}, "", 0},
		"marks may go back, as with restore":               {core.Owned, func(in *core.CommitIntent) { in.Body.Marks = nil }, "", 0},
		"somebody's own merge of an owned table":           {core.Owned, func(*core.CommitIntent) {}, core.RuleForeignMarks, 403},
		"somebody's own merge of a draining table":         {core.Draining, func(*core.CommitIntent) {}, core.RuleForeignMarks, 403},
		"somebody's own merge of a table that nobody owns": {core.Direct, func(*core.CommitIntent) {}, "", 0},
		"a gap":                     {core.Direct, func(in *core.CommitIntent) { in.Name.Version, in.Body.Version = 8, 8 }, core.RuleNextOnly, 403},
		"a version that exists":     {core.Direct, func(in *core.CommitIntent) { in.Name.Version, in.Body.Version = 4, 4 }, core.RuleOccupied, 412},
		"the other scheme":          {core.Direct, func(in *core.CommitIntent) { in.Name.Scheme = core.V1 }, core.RuleNamingScheme, 403},
		"a body of another version": {core.Direct, func(in *core.CommitIntent) { in.Body.Version = 9 }, core.RuleBodyVersion, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := goodIntent()
			c.change(&in)
			if v := core.JudgeClient(in, c.mode); v.Rule != c.rule || v.Status != c.status {
				t.Errorf("expected %q (%d), got %q (%d): %s", c.rule, c.status, v.Rule, v.Status, v.Detail)
			}
		})
	}
}
