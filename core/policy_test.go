package core_test

import (
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

func of[N any](n N) *N { return &n }

func TestAPolicyChangesOnlyWhatItSets(t *testing.T) {
	t.Parallel()
	limits := core.Limits{Queue: time.Minute, Execution: time.Hour, NoProgress: 10 * time.Minute, CancelGrace: time.Second}
	pass := core.PassLimits{Generations: 64, Size: 1000, Largest: 5000}
	for name, c := range map[string]struct {
		policy *core.Policy
		limits core.Limits
		pass   core.PassLimits
	}{
		"there is none":         {nil, limits, pass},
		"it sets a mode alone":  {&core.Policy{Mode: core.Owned}, limits, pass},
		"it sets no limit to 0": {&core.Policy{QueueSeconds: of[int64](0), NoProgressSeconds: of[int64](0), PassGenerations: of(0), PassBytes: of[core.Bytes](0)}, limits, pass},
		"an execution has no end": {
			&core.Policy{ExecutionSeconds: of[int64](0)},
			core.Limits{Queue: time.Minute, Execution: core.NoExecutionLimit, NoProgress: 10 * time.Minute, CancelGrace: time.Second}, pass,
		},
		"it sets all": {
			&core.Policy{QueueSeconds: of[int64](5), ExecutionSeconds: of[int64](6), NoProgressSeconds: of[int64](7), PassGenerations: of(8), PassBytes: of[core.Bytes](9)},
			core.Limits{Queue: 5 * time.Second, Execution: 6 * time.Second, NoProgress: 7 * time.Second, CancelGrace: time.Second},
			core.PassLimits{Generations: 8, Size: 9, Largest: 5000},
		},
	} {
		if got := c.policy.Limits(limits); got != c.limits {
			t.Errorf("%s: expected the limits %+v, got %+v", name, c.limits, got)
		}
		if got := c.policy.Pass(pass); got != c.pass {
			t.Errorf("%s: expected passes of %+v, got %+v", name, c.pass, got)
		}
	}
}

func TestAPolicyThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy core.Policy
		ok     bool
	}{
		"an empty one":                       {core.Policy{}, true},
		"a mode that there is":               {core.Policy{Mode: core.Draining}, true},
		"a mode that there is not":           {core.Policy{Mode: "owed"}, false},
		"no threshold":                       {core.Policy{PendingGenerations: of(0), PendingSeconds: of[int64](0)}, true},
		"a threshold below nothing":          {core.Policy{PendingSeconds: of[int64](-1)}, false},
		"passes of nothing":                  {core.Policy{PassGenerations: of(0)}, false},
		"passes of no bytes":                 {core.Policy{PassBytes: of[core.Bytes](0)}, false},
		"no execution limit":                 {core.Policy{ExecutionSeconds: of[int64](0)}, true},
		"an execution limit below nothing":   {core.Policy{ExecutionSeconds: of[int64](-1)}, false},
		"nothing may wait":                   {core.Policy{QueueSeconds: of[int64](0)}, false},
		"everything must progress at once":   {core.Policy{NoProgressSeconds: of[int64](0)}, false},
		"all of it, within what makes sense": {core.Policy{Mode: core.Owned, QueueSeconds: of[int64](1), NoProgressSeconds: of[int64](1), PassGenerations: of(1), PassBytes: of[core.Bytes](1)}, true},
	} {
		if err := c.policy.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: expected it to pass: %v, got %v", name, c.ok, err)
		}
	}
}
