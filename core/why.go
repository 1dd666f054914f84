package core

import "slices"

// Situation is everything that decides why a target which has something pending does not run.
type Situation struct {
	// Live: this process is registered, so the KV answers and what it declares is seen.
	Live bool
	// Broken: a record of the target can't be read.
	Broken bool
	// Phase is that of the execution that owns the target; empty if none does.
	Phase Phase
	// Mode and Unclear are what [EffectiveMode] says.
	Mode    Mode
	Unclear Reason
	// Written: some live worker merges the target by itself while it is direct.
	Written bool
	// Demanded: somebody has asked for it. Below: nobody has, because less is pending than is worth it.
	Demanded bool
	Below    bool
	// Due: some of what was asked for may be tried. If not, Waits says that a failure of the whole target is
	// waited for, and else its shards wait by themselves.
	Due   bool
	Waits bool
	// Closed: the lake and the KV tell different histories. Attention: a person should look.
	Closed    bool
	Attention bool
	// Blind: this master could not look at the lake, and waits before it tries again.
	Blind bool
	// Worker is the reason of the worker that came nearest to being taken; none if one can be.
	Worker Reason
}

// Reason is the first thing that is in the way; [ReasonNone] if nothing is. API, command line and dashboard
// all show this answer.
func (s Situation) Reason() Reason {
	switch {
	case s.Broken:
		return ReasonModeDisagreement // unreadable: nothing runs
	case s.Phase == Recovering || s.Phase == Recovered || s.Phase == Uncertain:
		return ReasonRecovering
	case s.Phase != "":
		return ReasonOwnedElsewhere
	case !s.Live:
		return ReasonKVDown
	case s.Unclear != ReasonNone:
		return s.Unclear
	case s.Mode == Draining:
		return ReasonDraining
	case s.Mode != Owned && s.Written:
		return ReasonDirect
	case s.Mode != Owned:
		return ReasonNotSelected
	case s.Closed && !s.Due:
		return ReasonLakeChanged
	case !s.Demanded && s.Below:
		return ReasonBelowThreshold
	case !s.Demanded && !s.Attention:
		return ReasonNoDemand
	case s.Demanded && !s.Due && !s.Waits:
		return ReasonBadShard
	case !s.Due && s.Attention:
		return ReasonAttention
	case !s.Due:
		return ReasonBackoff
	case s.Blind:
		return ReasonLakeDown
	}
	return s.Worker
}

// situation is that of a target as this master sees it, with its demand as it was shared out last; no worker
// is looked for.
func (m *Master) situation(at Moment, tr *track, tv *TargetView) Situation {
	mode, unclear := m.view.Mode(tr.target)
	return Situation{
		Live: m.register.live, Broken: tv.Broken, Phase: tv.Execution.Value.Phase, Mode: mode, Unclear: unclear,
		Written:  m.written(tr.target),
		Demanded: !tv.Demand.Value.Empty(), Below: tr.below,
		Due:    slices.ContainsFunc(tr.shares, func(s share) bool { return len(s.due) > 0 }),
		Waits:  slices.ContainsFunc(tr.shares, func(s share) bool { return s.waits }),
		Closed: closed(tv), Attention: attention(tv),
		Blind: tr.blind.until.Set && !tr.blind.until.due(at.Mono),
	}
}

// written reports whether some live worker merges a target by itself while it is direct.
func (m *Master) written(t Target) bool {
	for _, s := range m.view.Workers {
		if s.Value.writes(t) {
			return true
		}
	}
	return false
}

// Waiting is why a target does not run, since when, and until when at the latest if that is known.
type Waiting struct {
	Reason Reason
	Since  MonoTime
	Until  MonoTime // 0: nobody knows
	// Shares are what is asked for, by endpoint, in the order of their turns: who failed is seen beside those
	// that go on.
	Shares []WaitingShare
}

// WaitingShare is what one endpoint has of what is asked for. Its reason is none if nothing but its turn is
// waited for.
type WaitingShare struct {
	Endpoint Endpoint
	Shards   int
	Reason   Reason
	Until    MonoTime // when more of it is due; 0: nobody knows
}

// WhyNot is why the target does not run right now, as this master sees it, on its own clock.
func (m *Master) WhyNot(t Target) Waiting {
	tr, ok := m.tracks[t]
	if !ok {
		return Waiting{Reason: ReasonNotSelected}
	}
	until := alarm{}
	switch tr.reason {
	case ReasonBackoff, ReasonBadShard, ReasonAttention, ReasonLakeChanged:
		until = tr.watch.due
	case ReasonLakeDown:
		until = tr.blind.until
	case ReasonBelowThreshold:
		if tr.pending.Set {
			until = m.trigger(m.view.Target(t)).nextAt(tr.pending.At)
		}
	case ReasonOwnedElsewhere:
		until = tr.watch.second
	case ReasonRecovering:
		if tr.settle != nil {
			until = tr.settle.alarm()
		}
	}
	w := Waiting{Reason: tr.reason, Since: tr.reasonSince, Until: until.At}
	for _, s := range tr.shares {
		w.Shares = append(w.Shares, WaitingShare{s.endpoint, len(s.shards), s.reason, s.next.At})
	}
	return w
}

// Why is the reason of [Master.WhyNot] alone.
func (m *Master) Why(t Target) Reason { return m.WhyNot(t).Reason }

// because remembers why a target does not run, and since when that is so.
func (tr *track) because(at Moment, r Reason) {
	if tr.reason != r || tr.reasonSince == 0 {
		tr.reason, tr.reasonSince = r, at.Mono
	}
}
