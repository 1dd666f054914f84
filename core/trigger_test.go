package core_test

import (
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

func TestATriggerPullsByCountOrByAgeAndZeroTurnsOneOff(t *testing.T) {
	t.Parallel()
	both := core.Trigger{Generations: 8, Age: time.Minute}
	for name, c := range map[string]struct {
		trigger core.Trigger
		pending int
		age     time.Duration
		want    bool
	}{
		"nothing is pending":                {both, 0, time.Hour, false},
		"few and young":                     {both, 7, 59 * time.Second, false},
		"as many as it takes":               {both, 8, 0, true},
		"one that has waited":               {both, 1, time.Minute, true},
		"the count is off, few and old":     {core.Trigger{Age: time.Minute}, 1, time.Minute, true},
		"the count is off, many and young":  {core.Trigger{Age: time.Minute}, 1000, time.Second, false},
		"the age is off, few and very old":  {core.Trigger{Generations: 8}, 7, 1000 * time.Hour, false},
		"the age is off, many":              {core.Trigger{Generations: 8}, 8, 0, true},
		"both are off: only a request does": {core.Trigger{}, 1000, 1000 * time.Hour, false},
	} {
		if got := c.trigger.Reached(c.pending, c.age); got != c.want {
			t.Errorf("%s: expected %v, got %v", name, c.want, got)
		}
	}
}
