package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Line is one thing that was worth a line: a decision of a process, a version of a table, a fault.
type Line struct {
	At   time.Duration // since the beginning, in virtual time
	Who  string        // a process, "lake", or "---" for what happens to the world
	Text string
}

func (l Line) String() string { return fmt.Sprintf("%-3s %s", l.Who, l.Text) }

// Clock is the line with its virtual time.
func (l Line) Clock() string {
	at := l.At.Round(time.Millisecond)
	return fmt.Sprintf("%d:%02d:%06.3f  %s", int(at.Hours()), int(at.Minutes())%60, (at % time.Minute).Seconds(), l)
}

// About is the table that a line speaks of; empty if it speaks of none.
func (l Line) About(targets []core.Target) core.Target {
	for _, t := range targets {
		if strings.HasPrefix(l.Text, string(t)+": ") {
			return t
		}
	}
	return ""
}

// Mattered are the lines of a run that have to do with its problem: those about the tables that it names, and the
// faults of the processes that had to do with them, of the KV and of the lake. All lines, if it names no table.
func (r Result) Mattered() []Line {
	targets := r.Profile.Targets()
	named := slices.DeleteFunc(slices.Clone(targets), func(t core.Target) bool { return !names(r.Problem, t) })
	if len(named) == 0 {
		return r.Timeline
	}
	procs := map[string]bool{}
	for _, l := range r.Timeline {
		if slices.Contains(named, l.About(targets)) {
			procs[l.Who] = true
		}
	}
	var out []Line
	for _, l := range r.Timeline {
		t := l.About(targets)
		switch {
		case l.Who != "---" && t != "" && !slices.Contains(named, t):
		case l.Who == "---" && !concerns(l.Text, named, procs):
		default:
			out = append(out, l)
		}
	}
	return out
}

// concerns reports whether a fault has to do with some tables or the processes that work on them.
func concerns(fault string, tables []core.Target, procs map[string]bool) bool {
	what, whom, told := strings.Cut(fault, " (")
	if !told || strings.Contains(what, "the KV") || strings.Contains(what, "the lake") {
		return true
	}
	proc, table, _ := strings.Cut(strings.TrimSuffix(whom, ")"), ", ")
	return procs[proc] || strings.Contains(what, "user") && slices.Contains(tables, core.Target(table))
}

// names reports whether a problem speaks of a table, and not only of one whose name contains it.
func names(problem string, t core.Target) bool {
	for _, word := range strings.FieldsFunc(problem, func(c rune) bool { return strings.ContainsRune(" ,;:()", c) }) {
		if word == string(t) {
			return true
		}
	}
	return strings.Contains(string(t), " ") && strings.Contains(problem, string(t))
}

// Span is one execution, as the timeline draws it. What has not happened is 0.
type Span struct {
	Target   core.Target
	Kind     core.Kind
	Number   uint64
	Worker   core.Endpoint
	Reserved time.Duration
	Started  time.Duration
	Frozen   time.Duration
	Ended    time.Duration // when it was released
	Outcome  core.Code     // empty: its work was done
}

// charted notes what an applied transaction makes of an execution.
func (w *world) charted(name string, was, now core.Execution) {
	if w.quietly {
		return
	}
	at := time.Duration(w.now)
	e := now
	if e.ID == "" {
		e = was
	}
	i := slices.IndexFunc(w.spans, func(s Span) bool { return s.Target == e.Target && s.Number == e.Number && s.Ended == 0 })
	if i < 0 {
		w.spans = append(w.spans, Span{Target: e.Target, Kind: e.Kind, Number: e.Number, Worker: e.Endpoint, Reserved: at})
		return
	}
	s := &w.spans[i]
	switch name {
	case "start":
		s.Started = at
	case "freeze":
		s.Frozen = at
	case "release":
		s.Ended = at
		if h := Get[core.History](w.kv, core.HistoryKey(e.Target, e.Number)); !h.Merged {
			s.Outcome = h.Failure.Code
		}
	}
}
