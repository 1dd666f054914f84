package sim

import (
	"strings"
	"testing"
	"time"
)

func TestATimelineShowsWhatHasToDoWithTheProblem(t *testing.T) {
	t.Parallel()
	lines := func(r Result) string {
		var all []string
		for _, l := range r.Mattered() {
			all = append(all, l.Who+" "+l.Text)
		}
		return strings.Join(all, "\n")
	}
	r := Result{Profile: Profile{Tables: 2}, Timeline: []Line{
		{time.Second, "m1", "db: execution 1 reserved for w1"},
		{2 * time.Second, "m1", "db/events: execution 1 reserved for w2"},
		{3 * time.Second, "---", "a process is cut off (w1, db/events)"},
		{4 * time.Second, "w1", "db: execution 1 runs"},
		{5 * time.Second, "---", "a process is cut off (w2, db)"},
		{6 * time.Second, "---", "the KV is away (w2, db/events)"},
		{7 * time.Second, "---", "a user changes a table's history (w2, db)"},
	}}
	r.Problem = "invariant 4: the rows of db at v9 are not those that were written"
	want := "m1 db: execution 1 reserved for w1\n--- a process is cut off (w1, db/events)\nw1 db: execution 1 runs\n" +
		"--- the KV is away (w2, db/events)\n--- a user changes a table's history (w2, db)"
	if got := lines(r); got != want {
		t.Errorf("expected\n%s\ngot\n%s", want, got)
	}
	if r.Problem = "panic: something"; len(r.Mattered()) != len(r.Timeline) {
		t.Error("a problem that names no table is about all of them")
	}
}

func TestALineHasItsVirtualTime(t *testing.T) {
	t.Parallel()
	l := Line{25*time.Hour + 61*time.Second + 23*time.Millisecond, "m1", "db: adopted"}
	if got := l.Clock(); got != "25:01:01.023  m1  db: adopted" {
		t.Errorf("got %q", got)
	}
}

// A run keeps a bar for each execution that it has seen, with the times in their order.
func TestARunKeepsTheSpansOfItsExecutions(t *testing.T) {
	t.Parallel()
	r := Run(Options{Seed: 3, Hours: 0.3, Timeline: true})
	done := 0
	for _, s := range r.Spans {
		if s.Ended > 0 && s.Outcome == "" {
			done++
		}
		if s.Ended > 0 && (s.Ended < s.Reserved || s.Started > s.Ended) || s.Started > 0 && s.Started < s.Reserved {
			t.Errorf("execution %d of %s: %+v", s.Number, s.Target, s)
		}
	}
	if done == 0 || done < r.Merges {
		t.Errorf("%d executions are done, %d merges are counted", done, r.Merges)
	}
}

// told is a timeline as text.
func told(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}
