package sim

import "github.com/sluice-data/sluice/core"

// operation is what an operator says to a master:
//
//	mode m1 events owned | direct | draining
//	set-policy m1 events generations=4 mode=owned
//	forget m1 w1 events, or on all tables: forget m1 w1
func (c command) operation(r core.RequestID) core.Event {
	switch c.verb {
	case "mode":
		return core.ModeRequested{Request: r, Target: core.Target(c.object(1)), Mode: core.Mode(c.object(2))}
	case "set-policy":
		return core.PolicyRequested{Request: r, Target: core.Target(c.object(1)), Policy: c.policy()}
	}
	return core.ForgetRequested{Request: r, Endpoint: core.Endpoint(c.object(1)), Target: core.Target(c.object(2))}
}

// policy is a policy as a command gives it.
func (c command) policy() core.Policy {
	p := core.Policy{Mode: core.Mode(c.set["mode"])}
	policyLimits(c, &p)
	policyUpkeep(c, &p)
	if _, set := c.set["generations"]; set {
		n := c.number("generations", 0)
		p.PendingGenerations = &n
	}
	if _, set := c.set["seconds"]; set {
		n := int64(c.number("seconds", 0))
		p.PendingSeconds = &n
	}
	return p
}

// showMode shows the latch and the policy of a table: show-mode events
func (s *stage) showMode(c command) error {
	t := core.Target(c.object(0))
	latch := Get[core.Latch](s.w.kv, core.ModeKey(t))
	s.w.say("=", "%s: latch %q by %q, policy %s", t, latch.Mode, latch.By, s.w.kv.Get(core.PolicyKey(t)).Value)
	return nil
}
