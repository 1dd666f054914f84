package core_test

import (
	"testing"

	"github.com/sluice-data/sluice/core"
)

var (
	execution = core.Caller{Class: core.ClassExecution, Execution: "e1", Target: "t"}
	ingest    = core.Caller{Class: core.ClassIngest, Target: "t", Shard: "s1"}
	client    = core.Caller{Class: core.ClassClient}
	reader    = core.Caller{Class: core.ClassReader}
)

func TestMayWriteSaysHowEachClassWritesEachKindOfKey(t *testing.T) {
	t.Parallel()
	const (
		manifest = "t.lance/_versions/7.manifest"
		data     = "t.lance/data/a.lance"
		txn      = "t.lance/_transactions/6-a.txn"
		shard    = "t.lance/_mem_wal/s1/manifest/0.binpb"
		wal      = "t.lance/_mem_wal/s1/wal/1.arrow"
		sstable  = "t.lance/_mem_wal/s1/g1/data/a.lance"
		sstableM = "t.lance/_mem_wal/s1/g1/_versions/1.manifest"
		hint     = "t.lance/_mem_wal/s1/manifest/version_hint.json"
	)
	plain, conditional := core.Write{Whole: true}, core.Write{Whole: true, Conditional: true}
	parts := core.Write{Conditional: true}
	for _, c := range []struct {
		who  core.Caller
		key  string
		form core.Write
		how  core.WriteHow
		rule core.Rule
	}{
		{execution, manifest, conditional, core.WriteCommit, ""},
		{execution, manifest, plain, 0, core.RuleCondition},
		{execution, manifest, parts, 0, core.RuleWhole},
		{execution, data, plain, core.WriteNew, ""},
		{execution, data, parts, core.WriteNew, ""},
		{execution, txn, plain, core.WriteOwnTransaction, ""},
		{execution, shard, conditional, 0, core.RulePlace},
		{execution, wal, conditional, 0, core.RulePlace},
		{execution, "t.lance/_refs/tags/a", plain, 0, core.RulePlace},
		{execution, "t.lance/_versions/d7.manifest", plain, 0, core.RulePlace},
		{execution, "u.lance/data/a.lance", plain, 0, core.RuleOtherTable},
		{execution, "loose", plain, 0, core.RuleOtherTable},
		{execution, "_sluice/x", plain, 0, core.RuleHidden},
		{ingest, shard, conditional, core.WriteIfAbsent, ""},
		{ingest, shard, plain, 0, core.RuleCondition},
		{ingest, shard, parts, 0, core.RuleWhole},
		{ingest, sstableM, conditional, core.WriteIfAbsent, ""},
		{ingest, sstableM, plain, 0, core.RuleCondition},
		{ingest, wal, conditional, core.WriteIfAbsent, ""},
		{ingest, wal, plain, 0, core.RuleCondition},
		{ingest, sstable, plain, core.WriteNew, ""},
		{ingest, hint, plain, core.WritePlain, ""},
		{ingest, "t.lance/_mem_wal/s2/wal/1.arrow", conditional, 0, core.RulePlace},
		{ingest, data, plain, 0, core.RulePlace},
		{ingest, "u.lance/_mem_wal/s1/wal/1.arrow", conditional, 0, core.RuleOtherTable},
		{client, manifest, conditional, core.WriteCommit, ""},
		{client, manifest, plain, 0, core.RuleCondition},
		{client, shard, conditional, core.WriteIfAbsent, ""},
		{client, shard, plain, 0, core.RuleCondition},
		{client, sstableM, parts, 0, core.RuleWhole},
		{client, data, plain, core.WritePlain, ""},
		{client, data, conditional, core.WriteIfAbsent, ""},
		{client, "t.lance/_versions/d7.manifest", plain, core.WritePlain, ""},
		{client, "loose", plain, core.WritePlain, ""},
		{client, "_sluice/x", plain, 0, core.RuleHidden},
		{client, "t.lance//x", plain, 0, core.RuleMalformed},
		{reader, "loose", plain, 0, core.RuleReadOnly},
		{core.Caller{}, data, plain, 0, core.RulePlace},
	} {
		how, v := core.MayWrite(c.who, core.Classify(c.key), c.form)
		if how != c.how || v.Rule != c.rule || v.OK() != (c.rule == "") {
			t.Errorf("%s writes %s as %+v: way %d, rule %q; want way %d, rule %q", c.who.Class, c.key, c.form, how, v.Rule, c.how, c.rule)
		}
	}
}

func TestMayDeleteProtectsWhatARunningExecutionBuildsOn(t *testing.T) {
	t.Parallel()
	running := core.Watched{Running: true, From: 5, Head: 7}
	made := core.Watched{Running: true, From: 5, Made: true}
	for _, c := range []struct {
		who  core.Caller
		key  string
		when core.Watched
		rule core.Rule
	}{
		{execution, "t.lance/data/a.lance", core.Watched{}, core.RuleNoDelete},
		{ingest, "t.lance/_mem_wal/s1/wal/1.arrow", core.Watched{}, core.RuleNoDelete},
		{reader, "loose", core.Watched{}, core.RuleNoDelete},
		{client, "t.lance/data/a.lance", core.Watched{}, ""},
		{client, "t.lance/data/a.lance", running, ""},
		{client, "t.lance/data/a.lance", made, core.RuleInUse},
		{client, "t.lance/_versions/4.manifest", running, ""},
		{client, "t.lance/_versions/5.manifest", running, core.RuleInUse},
		{client, "t.lance/_versions/7.manifest", running, core.RuleInUse},
		{client, "t.lance/_versions/3.manifest", core.Watched{Running: true, From: 5, Head: 3}, core.RuleInUse},
		{client, "t.lance/_versions/7.manifest", core.Watched{From: 5, Head: 7}, ""},
		{client, "_sluice/lake.json", core.Watched{}, core.RuleHidden},
		{client, "t.lance/../x", core.Watched{}, core.RuleMalformed},
	} {
		if v := core.MayDelete(c.who, core.Classify(c.key), c.when); v.Rule != c.rule || v.OK() != (c.rule == "") {
			t.Errorf("%s deletes %s with %+v: rule %q, want %q", c.who.Class, c.key, c.when, v.Rule, c.rule)
		}
	}
}

func TestMayListKeepsThoseWithOneTableInIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		who    core.Caller
		prefix string
		ok     bool
	}{
		{execution, "t.lance/", true},
		{execution, "t.lance/_versions/", true},
		{execution, "t.lance", false},
		{execution, "", false},
		{execution, "u.lance/", false},
		{execution, "t.lance//", false},
		{ingest, "t.lance/_mem_wal/s1/", true},
		{ingest, "u.lance/", false},
		{client, "", true},
		{reader, "u.lance/", true},
	} {
		if v := core.MayList(c.who, c.prefix); v.OK() != c.ok {
			t.Errorf("%s lists %q: %+v, want ok %t", c.who.Class, c.prefix, v, c.ok)
		}
	}
}
