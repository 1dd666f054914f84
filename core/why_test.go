package core_test

import (
	"testing"

	"github.com/sluice-data/sluice/core"
)

func TestTheFirstThingInTheWayIsTheReason(t *testing.T) {
	t.Parallel()
	// ready has nothing in its way; each case takes something away.
	ready := func(change func(*core.Situation)) core.Situation {
		s := core.Situation{Live: true, Mode: core.Owned, Demanded: true, Due: true}
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		change func(*core.Situation)
		want   core.Reason
	}{
		"nothing":                                   {func(*core.Situation) {}, core.ReasonNone},
		"a record can't be read":                    {func(s *core.Situation) { s.Broken, s.Live = true, false }, core.ReasonModeDisagreement},
		"it is reserved":                            {func(s *core.Situation) { s.Phase = core.Reserved }, core.ReasonOwnedElsewhere},
		"it runs":                                   {func(s *core.Situation) { s.Phase = core.Running }, core.ReasonOwnedElsewhere},
		"it runs while the KV is away":              {func(s *core.Situation) { s.Phase, s.Live = core.Running, false }, core.ReasonOwnedElsewhere},
		"it is given back":                          {func(s *core.Situation) { s.Phase = core.Finished }, core.ReasonOwnedElsewhere},
		"nobody knows what became of it":            {func(s *core.Situation) { s.Phase = core.Uncertain }, core.ReasonRecovering},
		"it is fenced":                              {func(s *core.Situation) { s.Phase = core.Recovering }, core.ReasonRecovering},
		"the KV is away":                            {func(s *core.Situation) { s.Live = false }, core.ReasonKVDown},
		"masters differ":                            {func(s *core.Situation) { s.Unclear = core.ReasonModeDisagreement }, core.ReasonModeDisagreement},
		"only the latch knows that it is owned":     {func(s *core.Situation) { s.Unclear = core.ReasonLatched }, core.ReasonLatched},
		"it is draining":                            {func(s *core.Situation) { s.Mode = core.Draining }, core.ReasonDraining},
		"its writer merges it":                      {func(s *core.Situation) { s.Mode, s.Written = core.Direct, true }, core.ReasonDirect},
		"nobody of ours writes it":                  {func(s *core.Situation) { s.Mode = core.Direct }, core.ReasonNotSelected},
		"nobody has asked":                          {func(s *core.Situation) { s.Demanded, s.Due = false, false }, core.ReasonNoDemand},
		"too little is pending":                     {func(s *core.Situation) { s.Demanded, s.Due, s.Below = false, false, true }, core.ReasonBelowThreshold},
		"too little is pending, but asked for":      {func(s *core.Situation) { s.Below = true }, core.ReasonNone},
		"a failure is waited for":                   {func(s *core.Situation) { s.Due, s.Waits = false, true }, core.ReasonBackoff},
		"a failure that needs a person":             {func(s *core.Situation) { s.Due, s.Waits, s.Attention = false, true, true }, core.ReasonAttention},
		"attention, and its retry is due":           {func(s *core.Situation) { s.Attention = true }, core.ReasonNone},
		"only bad shards are left":                  {func(s *core.Situation) { s.Due, s.Attention = false, true }, core.ReasonBadShard},
		"lake and KV tell different histories":      {func(s *core.Situation) { s.Due, s.Waits, s.Attention, s.Closed = false, true, true, true }, core.ReasonLakeChanged},
		"no worker is there":                        {func(s *core.Situation) { s.Worker = core.ReasonNoWorker }, core.ReasonNoWorker},
		"every slot is taken":                       {func(s *core.Situation) { s.Worker = core.ReasonNoSlot }, core.ReasonNoSlot},
		"nobody has room for what comes first":      {func(s *core.Situation) { s.Worker = core.ReasonNoBytes }, core.ReasonNoBytes},
		"this master can't see the lake":            {func(s *core.Situation) { s.Blind = true }, core.ReasonLakeDown},
		"it can't, and a failure is waited for":     {func(s *core.Situation) { s.Blind, s.Due, s.Waits = true, false, true }, core.ReasonBackoff},
		"the only worker can't trust its lake":      {func(s *core.Situation) { s.Worker = core.ReasonLakeUnsafe }, core.ReasonLakeUnsafe},
		"a wait comes before the lack of a worker":  {func(s *core.Situation) { s.Due, s.Waits, s.Worker = false, true, core.ReasonNoWorker }, core.ReasonBackoff},
		"draining comes before a lack of requests":  {func(s *core.Situation) { s.Mode, s.Demanded = core.Draining, false }, core.ReasonDraining},
		"the mode is unclear, whatever it would be": {func(s *core.Situation) { s.Mode, s.Unclear = core.Direct, core.ReasonModeDisagreement }, core.ReasonModeDisagreement},
	} {
		if got := ready(c.change).Reason(); got != c.want {
			t.Errorf("%s: expected %q, got %q", name, c.want, got)
		}
	}
}
