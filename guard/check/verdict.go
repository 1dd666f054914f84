package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// verdict says what became of the tests of a rule.
type verdict struct {
	word   string // caught, passes; or missed, broken
	detail string
	output string // of the run, for those that are not ok
}

func (v verdict) ok() bool { return v.word == "caught" || v.word == "passes" }

// run is what one `go test -json` told.
type run struct {
	passed, failed []string // tests, each with its parents
	timedOut       bool
	output         string
}

// event is one line of `go test -json`; lines that are none (of a failed build) are output.
type event struct {
	Action string
	Test   string
	Output string
}

func parseRun(lines string) run {
	var r run
	var output strings.Builder
	for line := range strings.Lines(lines) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			output.WriteString(line)
			continue
		}
		output.WriteString(e.Output)
		// After a time-out the tests that ran are reported as failed; they were not seen to fail.
		r.timedOut = r.timedOut || strings.HasPrefix(e.Output, "panic: test timed out after")
		switch {
		case e.Test == "":
		case e.Action == "pass":
			r.passed = append(r.passed, e.Test)
		case e.Action == "fail":
			r.failed = append(r.failed, e.Test)
		}
	}
	r.output = output.String()
	return r
}

// intact judges the run with nothing taken out: the rule's tests are there and pass.
func (r run) intact(rule rule) verdict {
	if test, ok := first(r.failed, rule); ok {
		return verdict{"broken", test + " fails with nothing taken out", r.output}
	}
	if test, ok := first(r.passed, rule); ok {
		return verdict{"passes", test, ""}
	}
	return verdict{"broken", fmt.Sprintf("no test %s ran in %s", rule.Tests, rule.Package), r.output}
}

// without judges the run with the rule taken out: one of its tests fails.
func (r run) without(rule rule) verdict {
	test, failed := first(r.failed, rule)
	switch {
	case r.timedOut:
		return verdict{"broken", "the test hangs instead of failing", r.output}
	case failed:
		return verdict{"caught", "by " + test, ""}
	case len(r.passed) > 0:
		return verdict{"missed", rule.Tests + " still passes", r.output}
	}
	return verdict{"broken", "nothing was tested", r.output}
}

// first returns the first of the tests that guards the rule. A subtest ends before its parent, so it is the
// subtest that is named.
func first(tests []string, rule rule) (string, bool) {
	for _, test := range tests {
		if rule.matches(test) {
			return test, true
		}
	}
	return "", false
}
