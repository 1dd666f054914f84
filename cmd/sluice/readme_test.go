package main_test

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

var digits = regexp.MustCompile(`[0-9.]+`)

// Every `bin/sluice …` that the README shows is run here, on a lake as the README names it.
func TestTheCommandsOfTheReadmeDoWhatItSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	must(t, err)
	lake := newLake(t, "db/events")
	var commands, outputs int
	var last outcome
	for line := range strings.Lines(string(text)) {
		line, code := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		args, isCommand := strings.CutPrefix(line, "bin/sluice ")
		switch {
		case !code:
		case isCommand:
			last = runShown(t, lake, strings.Fields(args))
			commands++
		case strings.HasPrefix(line, "db/events: "):
			if !strings.Contains(digits.ReplaceAllString(last.stdout, "#"), digits.ReplaceAllString(line, "#")) {
				t.Errorf("the README says that it prints %q, it prints %q", line, last.stdout)
			}
			outputs++
		}
	}
	if commands < 3 || outputs == 0 {
		t.Errorf("found %d commands and %d outputs in the README", commands, outputs)
	}
}

func runShown(t *testing.T, lake string, args []string) outcome {
	t.Helper()
	at := -1
	for i, a := range args {
		if a == "--lake" {
			at = i + 1
		}
	}
	if at < 0 || args[at] != "lake" {
		t.Fatalf("the README runs %v on another lake than `lake`", args)
	}
	args[at] = lake
	if args[0] == "dev" {
		d := startDev(t, lake, args[3:]...)
		d.stop()
		return outcome{stdout: d.report}
	}
	o := sluice(t, args...)
	o.want(t, 0)
	return o
}

func TestTheReadmeNamesOnlyPathsThatTheAPIHas(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	must(t, err)
	d := startDev(t, newLake(t, "db/events"))
	paths := regexp.MustCompile("`(/[a-z][^`]*)`").FindAllStringSubmatch(string(text), -1)
	if len(paths) == 0 {
		t.Error("the README names no path")
	}
	for _, p := range paths {
		if status, body := get(t, d.api.URL+p[1]); status != 200 {
			t.Errorf("%s answers %d: %s", p[1], status, body)
		}
	}
	d.stop()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	a, err := http.DefaultClient.Do(q)
	must(t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	must(t, err)
	return a.StatusCode, string(body)
}
