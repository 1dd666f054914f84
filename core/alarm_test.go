package core

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheEarliestAlarmIsTheLeastOfThoseThatAreSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var alarms []alarm
		var set []MonoTime
		for range rapid.IntRange(0, 6).Draw(t, "alarms") {
			if at := MonoTime(rapid.IntRange(-3, 9).Draw(t, "at")); rapid.Bool().Draw(t, "set") {
				alarms, set = append(alarms, alarmAt(at)), append(set, at)
			} else {
				alarms = append(alarms, alarm{At: at})
			}
		}
		first := earliest(alarms...)
		if first.Set != (len(set) > 0) || first.Set && first.At != slices.Min(set) {
			t.Fatalf("%+v is the earliest of %+v", first, alarms)
		}
		now := MonoTime(rapid.IntRange(-3, 9).Draw(t, "now"))
		if rings := slices.ContainsFunc(set, func(at MonoTime) bool { return at <= now }); first.due(now) != rings {
			t.Fatalf("at %d of %+v: rings is %v", now, alarms, rings)
		}
	})
}

// A limit that was set by hand is kept, whichever others were not; and all that Validate takes can be waited for.
func TestLimitsThatWereSetStay(t *testing.T) {
	t.Parallel()
	limit := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(-2, 5).Draw(t, "limit")) })
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{
			Queue: limit.Draw(t, "queue"), Execution: limit.Draw(t, "execution"), NoProgress: limit.Draw(t, "no progress"), CancelGrace: limit.Draw(t, "grace"),
			Barrier: limit.Draw(t, "barrier"), Probe: limit.Draw(t, "probe"), KVHold: limit.Draw(t, "hold"), Poll: limit.Draw(t, "poll"),
		}
		before, after := each(l), each(l.withDefaults())
		negative := l.Execution < 0 && l.Execution != NoExecutionLimit
		for i := range before {
			if after[i] == 0 || before[i] != 0 && after[i] != before[i] {
				t.Fatalf("%v became %v", before, after)
			}
			negative = negative || i > 0 && before[i] < 0
		}
		if again := l.withDefaults().withDefaults(); again != l.withDefaults() {
			t.Fatalf("defaults of defaults are others: %+v", again)
		}
		if err := l.Validate(); (err != nil) != negative {
			t.Fatalf("%+v: %v", l, err)
		}
	})
}

// each are the durations of the limits, that on the execution first.
func each(l Limits) []time.Duration {
	return []time.Duration{l.Execution, l.Queue, l.NoProgress, l.CancelGrace, l.Barrier, l.Probe, l.KVHold, l.Poll}
}
