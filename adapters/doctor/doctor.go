// Package doctor tries out what the protocol builds on, in the place where it is going to run: the lake, the
// KV, the Python of the engine, ports, memory and clocks. It proves rather than asks, and leaves nothing
// behind.
//
// Each check is one function that gives one [Finding]. A finding fails only where Sluice would not work, or
// not safely; what is merely unwise is a warning.
package doctor

import (
	"context"
	"fmt"
	"time"
)

// Verdict is how a check came out.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning"
	Failed  Verdict = "FAILED"
)

// Finding is the outcome of one check.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Said is what was seen, in one line.
	Said string `json:"said"`
	// Hint is what to do about it; "" if nothing.
	Hint string `json:"hint,omitempty"`
}

func passed(check, format string, args ...any) Finding {
	return Finding{Check: check, Verdict: OK, Said: fmt.Sprintf(format, args...)}
}

func warning(check, hint, format string, args ...any) Finding {
	return Finding{Check: check, Verdict: Warning, Said: fmt.Sprintf(format, args...), Hint: hint}
}

func failed(check, hint string, err error) Finding {
	return Finding{Check: check, Verdict: Failed, Said: err.Error(), Hint: hint}
}

// Check is something to try out. It is done when its context ends.
type Check func(ctx context.Context) []Finding

// one is a check with one finding.
func one(f func(ctx context.Context) Finding) Check {
	return func(ctx context.Context) []Finding { return []Finding{f(ctx)} }
}

// limit bounds one check: a lake or a KV that doesn't answer is a finding, not a wait.
const limit = 30 * time.Second

// Examine makes the checks one after the other, and hands over each finding as it comes. failures is how many
// have failed.
func Examine(ctx context.Context, checks []Check, found func(Finding)) (failures int) {
	for _, check := range checks {
		ctx, cancel := context.WithTimeout(ctx, limit)
		for _, f := range check(ctx) {
			if f.Verdict == Failed {
				failures++
			}
			found(f)
		}
		cancel()
	}
	return failures
}
