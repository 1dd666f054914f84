package sim

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// The parts of scenarios that speak of a table's fan-out over endpoints.

// engines fail code=E_ENGINE_KILLED on=w1: only on that worker, the others' work as they should; silent and
// normal are the other two that can be told to one worker
func (s *stage) enginesOn(c command) error {
	script := engineScript{silent: c.object(0) == "silent"}
	if c.object(0) == "fail" {
		script.fail = core.Failure{Code: core.Code(c.set["code"]), Detail: "as the scenario wants it"}
	}
	if s.w.faults.script == nil {
		s.w.faults.script = func(string) engineScript { return s.w.engines }
	}
	outer, on := s.w.faults.script, c.set["on"]
	s.w.faults.script = func(who string) engineScript {
		if who == on {
			return script
		}
		return outer(who)
	}
	return nil
}

// blind m1: that process can't see the lake any more; blind m1 no: it can again
func (s *stage) blind(c command) error {
	outer := s.w.faults.blind
	s.w.faults.blind = func(kind, who string) bool {
		if who == c.object(0) {
			return c.object(1) != "no"
		}
		return outer(kind, who)
	}
	return nil
}

// policy events pass=2 size=10 queue=30 execution=600 no-progress=20: the limits of a policy, in seconds
func policyLimits(c command, p *core.Policy) {
	number := func(key string) *int64 {
		if _, set := c.set[key]; !set {
			return nil
		}
		n := int64(c.number(key, 0))
		return &n
	}
	p.QueueSeconds, p.ExecutionSeconds, p.NoProgressSeconds = number("queue"), number("execution"), number("no-progress")
	if n := number("pass"); n != nil {
		generations := int(*n)
		p.PassGenerations = &generations
	}
	if n := number("size"); n != nil {
		p.PassBytes = (*core.Bytes)(n)
	}
}

// writer says that an owned execution ran on the worker that writes its shards.
func writer(e core.Execution) string {
	if e.Kind == core.KindMerge && e.Charge == e.Endpoint {
		return ", their writer"
	}
	return ""
}

// shares shows what each endpoint waits for, if the scenario wants to know: why m1 events shares=yes
func (s *stage) shares(c command, p *process, why core.Waiting) {
	if c.set["shares"] == "" {
		return
	}
	var all []string
	for _, share := range why.Shares {
		until := ""
		if share.Until > 0 {
			until = fmt.Sprintf(" for %v", share.Until.Since(s.w.now).Round(time.Second))
		}
		all = append(all, fmt.Sprintf("%s (%d shards): %s%s", share.Endpoint, share.Shards, cmp.Or(string(share.Reason), "its turn"), until))
	}
	s.w.say(p.name, "  %s", strings.Join(all, "; "))
}
