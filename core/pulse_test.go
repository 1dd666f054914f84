package core_test

import (
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
	"pgregory.net/rapid"
)

func TestTwoSignalsOneVerdict(t *testing.T) {
	t.Parallel()
	// Everything is seconds before now; the limits are the defaults: 10 s probes, 3 in a row, 600 s.
	now := core.MonoTime(0).Add(time.Hour)
	ago := func(seconds int) core.MonoTime { return now.Add(-time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		pulse core.Pulse
		want  core.Health
	}{
		"it answers and works":                   {core.Pulse{Since: ago(900), Sampled: ago(1), Heard: ago(1), Progress: ago(10), Answered: true}, core.HealthWorking},
		"it works and can't be reached":          {core.Pulse{Since: ago(900), Sampled: ago(1), Heard: ago(90), Progress: ago(10), Answered: true, Missed: 8, Missing: ago(80)}, core.HealthWorking},
		"it answers, a batch takes long":         {core.Pulse{Since: ago(900), Sampled: ago(1), Heard: ago(1), Progress: ago(299), Answered: true}, core.HealthWorking},
		"it answers, nothing for half":           {core.Pulse{Since: ago(900), Sampled: ago(1), Heard: ago(1), Progress: ago(300), Answered: true}, core.HealthSlow},
		"it answers, nothing for the whole":      {core.Pulse{Since: ago(900), Sampled: ago(1), Heard: ago(1), Progress: ago(600), Answered: true}, core.HealthStalled},
		"it answers no more":                     {core.Pulse{Since: ago(900), Sampled: ago(1), Heard: ago(40), Progress: ago(31), Answered: true, Missed: 3, Missing: ago(30)}, core.HealthGone},
		"it missed two":                          {core.Pulse{Since: ago(900), Sampled: ago(1), Heard: ago(30), Progress: ago(31), Answered: true, Missed: 2, Missing: ago(20)}, core.HealthWorking},
		"it never answered":                      {core.Pulse{Since: ago(40), Sampled: ago(1), Heard: ago(40), Progress: ago(40), Missed: 3, Missing: ago(30)}, core.HealthGone},
		"it has been seen just now":              {core.Pulse{Since: now, Sampled: now, Heard: now, Progress: now}, core.HealthUnknown},
		"nobody has looked for a minute":         {core.Pulse{Since: ago(900), Sampled: ago(60), Heard: ago(60), Progress: ago(60), Answered: true}, core.HealthUnknown},
		"nobody has looked, it seemed gone":      {core.Pulse{Since: ago(900), Sampled: ago(60), Heard: ago(100), Progress: ago(100), Missed: 3, Missing: ago(90)}, core.HealthUnknown},
		"progress without an answer is a signal": {core.Pulse{Since: ago(30), Sampled: ago(1), Heard: ago(30), Progress: ago(5), Missed: 1, Missing: ago(20)}, core.HealthWorking},
	} {
		if got := c.pulse.Health(now, core.Limits{}); got != c.want {
			t.Errorf("%s: expected %s, got %s", name, c.want, got)
		}
	}
}

// Invariant 7: a heartbeat never makes a verdict on progress better.
func TestAHeartbeatIsNoProgress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		second := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
		}
		now := core.MonoTime(0).Add(time.Hour)
		p := core.Pulse{Since: 0, Sampled: now, Heard: now.Add(-second("heard", 900)), Progress: now.Add(-second("progress", 900)), Answered: true}
		before := p.Health(now, core.Limits{})
		p.Heard, p.Missed = now, 0
		if after := p.Health(now, core.Limits{}); after != before {
			t.Fatalf("an answer made %s of %s", after, before)
		}
	})
}
