// Command check takes out each guarded rule in turn and expects the test that guards it to fail.
//
//	go run ./guard/check [-only NAME]
//
// It reads guard/rules.txt, whose lines say `name<TAB>package<TAB>test regex<TAB>sentence`. With nothing
// taken out the tests have to pass; with the rule taken out one of them has to fail, by a failed check and
// not by a build error, a time-out or the lack of tests. It prints one line a rule and exits with 1 if a
// rule could be taken out unseen, or if guard/name.go and rules.txt don't name the same rules.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "check the rule of this name alone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := check(ctx, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

func check(ctx context.Context, only string) (bool, error) {
	rules, err := readRules("guard/rules.txt")
	if err != nil {
		return false, err
	}
	var incomplete error
	if only == "" {
		incomplete = complete(rules, "guard/name.go")
	} else if rules, err = choose(rules, only); err != nil {
		return false, err
	}
	whole, err := baseline(ctx, rules)
	if err != nil {
		return false, err
	}
	failed := 0
	for _, rule := range rules {
		began := time.Now()
		verdict := whole[rule.Name]
		if verdict.ok() {
			if verdict, err = without(ctx, rule); err != nil {
				return false, err
			}
		}
		if !verdict.ok() {
			failed++
		}
		fmt.Printf("%-7s %-28s %4.1f s  %s: %s\n", verdict.word, rule.Name, time.Since(began).Seconds(), strings.TrimSuffix(rule.Sentence, "."), verdict.detail)
		if !verdict.ok() {
			fmt.Println(verdict.output)
		}
	}
	fmt.Printf("%d of %d rules are guarded\n", len(rules)-failed, len(rules))
	return failed == 0, incomplete
}
