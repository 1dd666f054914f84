package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// commit takes the put of a base manifest through judgement, admission and storage. Every OK verdict of
// the authority is settled exactly once, whatever happens.
func (p *putting) commit() error {
	in, err := p.intent()
	if err != nil {
		p.body.close()
		return err
	}
	execution := p.grant.Caller.Class == core.ClassExecution
	verdict := p.judge(in)
	if !verdict.OK() {
		p.body.close()
		if cause := context.Cause(p.held); verdict.Status == 503 && cause != nil {
			verdict = stopped(cause)
		}
		return p.refuse(verdict)
	}
	p.gate.foreign.pass(in.Target, in.Name.Version)
	res, err := p.store()
	if res != resultLanded && res != resultUnknown {
		p.gate.foreign.lost(in.Target, in.Name.Version)
	}
	if execution {
		p.settle(in, res)
	}
	return p.answerCommit(in, res, err)
}

// intent collects the facts: the body, and the newest version read from the lake for this very request.
func (p *putting) intent() (core.CommitIntent, error) {
	t := p.key.Target
	in := core.CommitIntent{Target: t, Execution: p.grant.Caller.Execution, Name: p.key.Manifest}
	candidate, err := lance.ParseBase(p.name, p.body.bytes)
	if err != nil {
		return in, p.refuse(core.Verdict{Status: 403, Rule: core.RuleUnreadable, Detail: err.Error()})
	}
	// NB: where Lance does not inline a transaction, the manifest names a file that has been put before.
	candidate, err = candidate.Resolve(p.held, p.gate.cfg.Lake, t)
	if err != nil {
		return in, p.refuse(core.Verdict{Status: 503, Rule: ruleStorage, Detail: err.Error()})
	}
	in.Body = candidate.Facts
	in.Latest, err = p.latest(t)
	if err != nil {
		return in, p.refuse(core.Verdict{Status: 503, Rule: ruleStorage, Detail: err.Error()})
	}
	p.gate.foreign.look(t, in.Latest.Version)
	return in, nil
}

// latest reads a table's newest version; zero if it has none.
func (p *putting) latest(t core.Target) (core.BaseManifest, error) {
	newest, err := lance.ReadNewestBase(p.held, p.gate.cfg.Lake, t)
	var f core.Failure
	switch {
	case errors.As(err, &f) && f.Code == core.CodeTableMissing:
		return core.BaseManifest{}, nil
	case err != nil:
		return core.BaseManifest{}, fmt.Errorf("read the newest version of %s: %w", t, err)
	}
	return newest.Facts, nil
}

func (p *putting) judge(in core.CommitIntent) core.Verdict {
	if p.grant.Caller.Class == core.ClassExecution {
		return p.gate.cfg.Authority.Admit(p.held, in)
	}
	v := core.JudgeClient(in, p.gate.cfg.Authority.Mode(in.Target))
	if v.OK() && in.Latest.TableID != in.Body.TableID && in.Latest.TableID != "" {
		p.gate.cfg.Log.Warn("a client's commit changes the table's id; the table will be adopted anew",
			"target", in.Target, "version", in.Name.Version, "was", in.Latest.TableID, "is", in.Body.TableID)
	}
	return v
}

// settle tells the authority what became of a put that it admitted.
func (p *putting) settle(in core.CommitIntent, res result) {
	a := p.gate.cfg.Authority
	switch res {
	case resultLanded:
		// Before anybody can rely on it: what the landed manifest names does not change any more.
		p.gate.made.freeze(p.grant.Caller)
		p.gate.made.add(p.grant.Caller, p.name, false)
		a.Settled(in, core.Applied, true)
	case resultConflict, resultNotTried:
		a.Settled(in, core.NotApplied, false)
	default:
		a.Settled(in, core.Unknown, false)
	}
}

func (p *putting) answerCommit(in core.CommitIntent, res result, err error) error {
	c := p.grant.Caller
	switch res {
	case resultLanded:
		p.gate.cfg.Log.Info("gate lets a commit through", "target", in.Target, "execution", c.Execution,
			"class", c.Class, "version", in.Name.Version, "operation", in.Body.Operation)
		if c.Class == core.ClassExecution {
			p.gate.cfg.Authority.Worked(c.Execution, Work{Written: true, Key: p.name, Bytes: core.Bytes(p.body.digest.size)})
		}
		return nil
	case resultConflict:
		return p.refuse(occupied())
	case resultNotTried:
		if errors.Is(err, lake.ErrNotTried) {
			return p.refuse(failed(err))
		}
		return p.refuse(stopped(err))
	}
	v := core.Verdict{Status: 503, Rule: core.RuleReadBack, Detail: err.Error()}
	if errors.Is(err, errStorageTimeout) {
		v.Rule = core.RuleTurn
	}
	return p.refuse(v)
}
