package core_test

import (
	"slices"
	"testing"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

// voice is what one source says of a target in the table of modes: "", direct, owned or draining.
type voice = core.Mode

// modeRow is one row of the table of modes, in its order: the first that fits decides.
type modeRow struct {
	fits   func(live []voice, policy, latch voice) bool
	mode   core.Mode
	reason core.Reason
}

func says(live []voice, m core.Mode) bool { return slices.Contains(live, m) }

// modeTable is the table as it is written. A live process that says nothing is "direct"; no latch is "".
var modeTable = []modeRow{
	{func(live []voice, policy, latch voice) bool {
		return says(live, core.Draining) || policy == core.Draining || latch == core.Draining
	}, core.Draining, core.ReasonNone},
	{func(live []voice, policy, latch voice) bool { return policy == core.Direct && says(live, core.Owned) }, core.Direct, core.ReasonModeDisagreement},
	{func(live []voice, policy, latch voice) bool { return policy == core.Direct && latch == "" }, core.Direct, core.ReasonNone},
	{func(live []voice, policy, latch voice) bool {
		return policy == core.Owned || policy == "" && len(live) > 0 && !slices.ContainsFunc(live, func(v voice) bool { return v != core.Owned })
	}, core.Owned, core.ReasonNone},
	{func(live []voice, policy, latch voice) bool { return latch == core.Owned && !says(live, core.Owned) }, core.Owned, core.ReasonLatched},
	{func(live []voice, policy, latch voice) bool { return says(live, core.Owned) }, core.Owned, core.ReasonModeDisagreement},
	{func([]voice, voice, voice) bool { return true }, core.Direct, core.ReasonNone},
}

func TestTheEffectiveModeIsThatOfTheFirstRowThatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var v core.Voices
		var live []voice
		capable := true
		for range rapid.IntRange(0, 4).Draw(t, "processes") {
			d := core.Declared{
				Says:    rapid.SampledFrom([]core.Mode{core.Direct, core.Owned, core.Draining}).Draw(t, "says"),
				Capable: rapid.IntRange(0, 5).Draw(t, "old program") > 0,
			}
			v.Live, live, capable = append(v.Live, d), append(live, d.Says), capable && d.Capable
		}
		policy := rapid.SampledFrom([]core.Mode{"", core.Direct, core.Owned, core.Draining}).Draw(t, "policy")
		if policy != "" || rapid.Bool().Draw(t, "a policy without a mode") {
			v.Policy = &core.Policy{Mode: policy}
		}
		latch := rapid.SampledFrom([]core.Mode{"", core.Owned, core.Draining}).Draw(t, "latch")
		if latch != "" {
			v.Latch = &core.Latch{Mode: latch}
		}
		i := slices.IndexFunc(modeTable, func(r modeRow) bool { return r.fits(live, policy, latch) })
		mode, reason := modeTable[i].mode, modeTable[i].reason
		if mode == core.Owned && reason == core.ReasonNone && !capable {
			reason = core.ReasonModeDisagreement // owned needs every live process to be capable of it
		}
		if m, r := core.EffectiveMode(v); m != mode || r != reason {
			t.Fatalf("live %v, policy %q, latch %q, all capable %v: %s %q, row %d of the table says %s %q", live, policy, latch, capable, m, r, i+1, mode, reason)
		}
	})
}
