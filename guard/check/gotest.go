package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// testTimeout ends a test that hangs once its rule is gone; a guarding test fails in seconds.
const testTimeout = "2m"

// baseline runs the tests of all rules, package by package, with nothing taken out.
func baseline(ctx context.Context, rules []rule) (map[string]verdict, error) {
	var packages []string
	tests := map[string][]string{}
	for _, rule := range rules {
		if tests[rule.Package] == nil {
			packages = append(packages, rule.Package)
		}
		tests[rule.Package] = append(tests[rule.Package], rule.Tests)
	}
	verdicts := map[string]verdict{}
	for _, name := range packages {
		r, err := goTest(ctx, name, strings.Join(tests[name], "|"), "")
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			if rule.Package == name {
				verdicts[rule.Name] = r.intact(rule)
			}
		}
	}
	return verdicts, nil
}

// without runs the tests of a rule with the rule taken out.
func without(ctx context.Context, rule rule) (verdict, error) {
	r, err := goTest(ctx, rule.Package, rule.Tests, rule.Name)
	return r.without(rule), err
}

func goTest(ctx context.Context, name, tests, removed string) (run, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout", testTimeout, "-tags", "guards",
		"-ldflags", "-X github.com/sluice-data/sluice/guard.removed="+removed, "-run", tests, name)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (ctx.Err() != nil || !errors.As(err, &exit)) {
		return run{}, fmt.Errorf("go test %s without %q: %w", name, removed, err)
	}
	return parseRun(out.String()), nil
}
