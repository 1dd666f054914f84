package gate

import (
	"errors"
	"log/slog"

	"github.com/versity/versitygw/s3err"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// answer is a verdict as an S3 error. What clients make of it was measured: 403 and 400 fail at once, 409
// and 412 are commit conflicts, 500 and 503 are tried again.
func answer(v core.Verdict) error {
	code := map[int]string{400: "InvalidRequest", 403: "AccessDenied", 404: "NoSuchKey", 412: "PreconditionFailed", 501: "NotImplemented", 503: "ServiceUnavailable"}[v.Status]
	return s3err.APIError{Code: code, Description: string(v.Rule) + ": " + v.Detail, HTTPStatusCode: v.Status}
}

// refuse logs a refusal and returns the answer to it.
func (r *request) refuse(v core.Verdict) error {
	r.log(v)
	return answer(v)
}

// log writes one line a refusal.
func (r *request) log(v core.Verdict) {
	level := slog.LevelWarn
	if v.Status == 412 || r.grant.Caller.Class == core.ClassReader {
		level = slog.LevelInfo // an ordinary lost race, or a stray read
	}
	r.gate.cfg.Log.Log(r.ctx, level, "gate refuses "+r.verb,
		"target", r.key.Target, "execution", r.grant.Caller.Execution, "class", r.grant.Caller.Class,
		"version", r.key.Manifest.Version, "rule", v.Rule, "status", v.Status, "key", r.name, "detail", v.Detail)
}

// stopped is the answer to a request that was held and did not go on.
func stopped(cause error) core.Verdict {
	v := core.Verdict{Status: 503, Rule: core.RuleHeldTooLong, Detail: cause.Error()}
	switch {
	case errors.Is(cause, errRevoked):
		v.Status, v.Rule = 403, core.RuleRevoked
	case errors.Is(cause, errHungUp):
		v.Rule = core.RuleHungUp
	}
	return v
}

// failed is the answer to a lake that did not do what it was asked.
func failed(err error) core.Verdict {
	switch {
	case errors.Is(err, errRevoked), errors.Is(err, errHungUp):
		return stopped(err)
	case errors.Is(err, errBody):
		return core.Verdict{Status: 400, Rule: core.RuleUnreadable, Detail: err.Error()}
	case errors.Is(err, lake.ErrNotExist):
		return core.Verdict{Status: 404, Rule: ruleStorage, Detail: err.Error()}
	case errors.Is(err, lake.ErrDenied):
		return core.Verdict{Status: 403, Rule: ruleStorage, Detail: err.Error()}
	}
	return core.Verdict{Status: 503, Rule: ruleStorage, Detail: err.Error()}
}

// ruleStorage stands in the log where it was the lake that refused or failed, not a rule.
const ruleStorage core.Rule = "storage"
