package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sluice-data/sluice/sim"
)

// pageOf is the page of a result, parsed.
func pageOf(t *testing.T, r sim.Result) (text string, tags map[string]int) {
	t.Helper()
	var b bytes.Buffer
	if err := writePage(&b, r); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	tags = map[string]int{}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			tags[n.Data]++
		}
	}
	return b.String(), tags
}

func TestThePageOfARunDrawsItsLanesExecutionsAndMarks(t *testing.T) {
	t.Parallel()
	r := sim.Run(sim.Options{Seed: 5, Hours: 0.5, Timeline: true})
	text, tags := pageOf(t, r)
	for _, lane := range []string{"the world", "m1", "w1", "db"} {
		if !strings.Contains(text, `data-lane="`+lane+`"`) {
			t.Errorf("there is no lane for %s", lane)
		}
	}
	if tags["rect"] < len(r.Spans) || tags["line"] < len(r.Timeline)/2 {
		t.Errorf("%d bars for %d executions, %d lines for %d that were said", tags["rect"], len(r.Spans), tags["line"], len(r.Timeline))
	}
	for _, want := range []string{`class="fault"`, `class="landed"`, "execution 1 (merge) on w1", "clean"} {
		if !strings.Contains(text, want) {
			t.Errorf("expected %q on the page", want)
		}
	}
	if outside := regexp.MustCompile(`(https?:)?//\w+\.`).FindString(text); outside != "" || tags["link"]+tags["img"] > 0 {
		t.Errorf("the page refers to something outside: %q", outside)
	}
}

// What a run says is text, whatever is in it; and a long run makes no larger page.
func TestThePageEscapesWhatItShowsAndIsBounded(t *testing.T) {
	t.Parallel()
	r := sim.Result{Profile: sim.Profile{Masters: 1, Workers: 1, Tables: 1}, Verdict: sim.Safety, Problem: "<script>alert(1)</script>"}
	for range 5 * maxMarks {
		r.Timeline = append(r.Timeline, sim.Line{Who: "m1", Text: "db: <b>bold</b>"})
	}
	text, tags := pageOf(t, r)
	if tags["script"] != 1 || tags["b"] > 0 {
		t.Errorf("%d scripts and %d bold texts", tags["script"], tags["b"])
	}
	if len(text) > 2<<20 || !strings.Contains(text, "marks before these are left out") {
		t.Errorf("the page has %d bytes", len(text))
	}
}
