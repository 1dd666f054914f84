package core_test

import (
	"testing"

	"github.com/sluice-data/sluice/core"
)

// The modes, case by case as DESIGN has them: what the live processes, the policy and the latch say.
func TestTheEffectiveModeIsThatOfTheTable(t *testing.T) {
	t.Parallel()
	owned, silent, draining := core.Declared{Says: core.Owned, Capable: true}, core.Declared{Says: core.Direct, Capable: true}, core.Declared{Says: core.Draining, Capable: true}
	old := core.Declared{Says: core.Owned}
	for name, c := range map[string]struct {
		live   []core.Declared
		policy core.Mode
		latch  core.Mode
		mode   core.Mode
		reason core.Reason
	}{
		"nothing anywhere":                                        {nil, "", "", core.Direct, ""},
		"processes that say nothing":                              {[]core.Declared{silent, silent}, "", "", core.Direct, ""},
		"all say owned":                                           {[]core.Declared{owned, owned}, "", "", core.Owned, ""},
		"all say owned, as the latch does":                        {[]core.Declared{owned}, "", core.Owned, core.Owned, ""},
		"some say owned, some say nothing":                        {[]core.Declared{owned, silent}, "", "", core.Owned, core.ReasonModeDisagreement},
		"some say owned, some nothing, the latch owned":           {[]core.Declared{owned, silent}, "", core.Owned, core.Owned, core.ReasonModeDisagreement},
		"one is too old":                                          {[]core.Declared{owned, old}, "", "", core.Owned, core.ReasonModeDisagreement},
		"one is too old for the policy":                           {[]core.Declared{old}, core.Owned, "", core.Owned, core.ReasonModeDisagreement},
		"one says draining":                                       {[]core.Declared{owned, draining}, "", "", core.Draining, ""},
		"the policy says draining":                                {[]core.Declared{owned}, core.Draining, "", core.Draining, ""},
		"the latch says draining, all say owned":                  {[]core.Declared{owned}, core.Owned, core.Draining, core.Draining, ""},
		"the latch says owned, nobody else says anything":         {[]core.Declared{silent}, "", core.Owned, core.Owned, core.ReasonLatched},
		"the latch says owned, nobody lives":                      {nil, "", core.Owned, core.Owned, core.ReasonLatched},
		"the policy says owned, nobody says anything":             {[]core.Declared{silent}, core.Owned, "", core.Owned, ""},
		"the policy says owned, nobody lives":                     {nil, core.Owned, "", core.Owned, ""},
		"the policy says direct":                                  {[]core.Declared{silent}, core.Direct, "", core.Direct, ""},
		"the policy says direct, one declares owned":              {[]core.Declared{silent, owned}, core.Direct, "", core.Direct, core.ReasonModeDisagreement},
		"the policy says direct, the latch still says owned":      {[]core.Declared{silent}, core.Direct, core.Owned, core.Owned, core.ReasonLatched},
		"the policy says direct, one drains: a drain always wins": {[]core.Declared{draining}, core.Direct, "", core.Draining, ""},
	} {
		v := core.Voices{Live: c.live}
		if c.policy != "" {
			v.Policy = &core.Policy{Mode: c.policy}
		}
		if c.latch != "" {
			v.Latch = &core.Latch{Mode: c.latch}
		}
		if mode, reason := core.EffectiveMode(v); mode != c.mode || reason != c.reason {
			t.Errorf("%s: expected %s %q, got %s %q", name, c.mode, c.reason, mode, reason)
		}
	}
}

func TestALatchOnlyGoesUp(t *testing.T) {
	t.Parallel()
	ladder := []core.Mode{core.Direct, core.Owned, core.Draining}
	for i, latch := range ladder {
		for j, says := range ladder {
			if got := (&core.Latch{Mode: latch}).Raises(says); got != (j > i) {
				t.Errorf("a declaration of %s over the latch %s: raises is %v", says, latch, got)
			}
		}
	}
	var none *core.Latch
	if none.Raises(core.Direct) || !none.Raises(core.Owned) {
		t.Error("no latch stands below owned, and not below direct")
	}
}

func TestEveryCodeHasItsClass(t *testing.T) {
	t.Parallel()
	for class, codes := range map[core.Class][]core.Code{
		core.Transient: {
			core.CodeEngineUnknown, core.CodeEngineKilled, core.CodeEngineOOM, core.CodeCommitConflict, core.CodeBaseContended, core.CodeStale, core.CodeRefused,
			core.CodeNoProgress, core.CodeTimeLimit, core.CodeWorkerGone, core.CodeQueueLimit, core.CodeStorage, core.CodeKV, core.CodeCancelled, "E_UNHEARD_OF",
		},
		core.Data: {
			core.CodeSSTableMissing, core.CodeSSTableCorrupt, core.CodeManifestCorrupt, core.CodeGenerationGap, core.CodeKeyInTwoShards, core.CodeTooLarge,
		},
		core.Config: {
			core.CodeTableFormat, core.CodeTableMissing, core.CodeTableReplaced, core.CodeNoMemWAL, core.CodeNoPrimaryKey, core.CodeLakeWentBack, core.CodeLakeChanged,
			core.CodeEngineMissing,
		},
		core.Auth: {core.CodeAuth},
	} {
		for _, c := range codes {
			if c.Class() != class {
				t.Errorf("%s is %s, expected %s", c, c.Class(), class)
			}
		}
	}
	for _, c := range []core.Code{core.CodeQueueLimit, core.CodeCancelled, core.CodeStale, core.CodeOK} {
		if c.Charged() {
			t.Errorf("%s is charged", c)
		}
	}
}

// A record with a field that we don't know was written by a newer program, which knows more than we do.
func TestARecordWithUnknownFieldsIsNotRead(t *testing.T) {
	t.Parallel()
	if _, err := core.Decode[core.TableRecord]("k", `{"id":"t","path":"p","scheme":"v2","adopted":1,"last_execution":0,"last_seen":1,"more":true}`); err == nil {
		t.Error("a record with an unknown field was read")
	}
	e := runningMerge()
	back, err := core.Decode[core.Execution]("k", core.Encode(e))
	if err != nil || core.Encode(back) != core.Encode(e) {
		t.Errorf("an execution did not survive its text: %v %+v", err, back)
	}
}

// What is unreadable closes its target: mode unreadable = no merge of any kind.
func TestAnUnreadableRecordClosesItsTarget(t *testing.T) {
	t.Parallel()
	v := core.ViewOf(1, []core.Record{{Key: core.ModeKey("db"), Value: `{"mode":"owned","newer":1}`, Mod: 1}, {Key: core.ModeKey("db/events"), Value: `{"mode":"owned"}`, Mod: 1}})
	if !v.Target("db").Broken || v.Target("db/events").Broken {
		t.Errorf("expected db alone to be closed: %v", v.Broken)
	}
	v.Apply(2, nil, []string{core.ModeKey("db")})
	if v.Target("db").Broken {
		t.Error("db stays closed after the record is gone")
	}
}
