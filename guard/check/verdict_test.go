package main

import (
	"strings"
	"testing"
)

// lines makes what `go test -json` prints from `action test` or, after `>`, from output.
func lines(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		if out, ok := strings.CutPrefix(e, ">"); ok {
			b.WriteString(`{"Action":"output","Output":"` + out + `\n"}` + "\n")
			continue
		}
		action, test, _ := strings.Cut(e, " ")
		b.WriteString(`{"Action":"` + action + `","Test":"` + test + `"}` + "\n")
	}
	return b.String()
}

func TestARuleIsGuardedOnlyByAFailedTest(t *testing.T) {
	t.Parallel()
	guarded := rule{Name: "r", Package: "./p", Tests: "TestGap|TestName/late"}
	for name, test := range map[string]struct {
		output          string
		intact, without string
	}{
		"the test passes":         {lines("run TestGap", "pass TestGap", "pass "), "passes", "missed"},
		"the test fails":          {lines("run TestGap", "fail TestGap/a", "fail TestGap", "fail "), "broken", "caught"},
		"a subtest fails":         {lines("fail TestName/late", "fail TestName", "fail "), "broken", "caught"},
		"another rule's test":     {lines("pass TestOther", "pass "), "broken", "missed"},
		"no test ran":             {lines(">testing: warning: no tests to run", "pass "), "broken", "broken"},
		"the build fails":         {"# p\np.go:1: undefined: x\n" + lines(">FAIL p [build failed]", "fail "), "broken", "broken"},
		"the test hangs":          {lines("run TestGap", ">panic: test timed out after 2m0s", "fail TestGap", "fail "), "broken", "broken"},
		"the program exits early": {lines("run TestGap", ">exit status 2", "fail "), "broken", "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := parseRun(test.output)
			if v := r.intact(guarded); v.word != test.intact {
				t.Errorf("with nothing taken out: expected %s, got %s (%s)", test.intact, v.word, v.detail)
			}
			if v := r.without(guarded); v.word != test.without {
				t.Errorf("with the rule taken out: expected %s, got %s (%s)", test.without, v.word, v.detail)
			}
		})
	}
}
