package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/sim"
)

//go:embed simpage.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// The page is bounded, however long the run was: it draws the last marks, and lists the last lines that mattered.
const (
	maxMarks   = 6000
	maxLines   = 400
	laneHeight = 26
	chartLeft  = 90
	chartWidth = 2400
)

type page struct {
	Title, Verdict, Profile, State string
	Width, Height                  int
	Lanes                          []lane
	Hours                          []label
	Bars                           []bar
	Marks                          []mark
	Left                           int
	Lines                          []sim.Line
}

type lane struct {
	Name     string
	Y, TextY int
}

type label struct {
	X    int
	Text string
}

type bar struct {
	X, Y, W     int
	Class, Text string
}

type mark struct {
	X, Y, Y2    int
	Class, Text string
}

// writePage draws a run that has a timeline as one page of HTML that needs nothing else: a lane for what happens to
// the world, one for each process and for each table.
func writePage(w io.Writer, r sim.Result) error {
	p := page{
		Title: fmt.Sprintf("sluice sim: seed %d", r.Seed), Verdict: string(r.Verdict), Profile: r.Profile.String(), State: r.State,
		Width: chartLeft + chartWidth + 20,
	}
	if r.Problem != "" {
		p.Verdict += ": " + r.Problem
	}
	rows := map[string]int{}
	add := func(name string) {
		if _, ok := rows[name]; !ok {
			rows[name] = 30 + laneHeight*len(rows)
			p.Lanes = append(p.Lanes, lane{name, rows[name], rows[name] - 6})
		}
	}
	add("the world")
	for i := range r.Profile.Masters {
		add(fmt.Sprintf("m%d", i+1))
	}
	for i := range r.Profile.Workers {
		add(fmt.Sprintf("w%d", i+1))
	}
	for _, t := range r.Profile.Targets() {
		add(string(t))
	}
	for _, l := range r.Timeline { // twins, and old processes under other names
		if l.Who != "---" && l.Who != "lake" {
			add(l.Who)
		}
	}
	end := max(r.Virtual, time.Second)
	x := func(at time.Duration) int { return chartLeft + int(int64(at)*chartWidth/int64(end)) }
	for i := range 13 {
		at := end * time.Duration(i) / 12
		p.Hours = append(p.Hours, label{x(at), fmt.Sprintf("%d:%02d", int(at.Hours()), int(at.Minutes())%60)})
	}
	spans := r.Spans[max(0, len(r.Spans)-maxMarks):]
	p.Left = len(r.Spans) - len(spans)
	for _, s := range spans {
		p.draw(s, rows[string(s.Target)], end, x)
	}
	lines := r.Timeline[max(0, len(r.Timeline)-maxMarks):]
	p.Left += len(r.Timeline) - len(lines)
	for _, l := range lines {
		name, class := l.Who, "mark"
		switch l.Who {
		case "---":
			name, class = "the world", "fault"
		case "lake":
			name, class = string(l.About(r.Profile.Targets())), "landed"
		}
		if y, ok := rows[name]; ok {
			p.Marks = append(p.Marks, mark{x(l.At), y - 4, y + 4, class, l.Clock()})
		}
	}
	p.Lines = r.Mattered()
	p.Lines = p.Lines[max(0, len(p.Lines)-maxLines):]
	p.Height = 30 + laneHeight*len(rows)
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("write the page of seed %d: %w", r.Seed, err)
	}
	return nil
}

// draw draws one execution in the lane of its table.
func (p *page) draw(s sim.Span, y int, end time.Duration, x func(time.Duration) int) {
	class, outcome, to := "open", "not over", s.Ended
	switch {
	case s.Ended == 0:
		to = end
	case s.Outcome != core.CodeOK:
		class, outcome = "failed", string(s.Outcome)
	case s.Kind.Maintains():
		class, outcome = "kept", "done"
	default:
		class, outcome = "done", "merged"
	}
	text := fmt.Sprintf("%s: execution %d (%s) on %s, %s after %v", s.Target, s.Number, s.Kind, s.Worker, outcome, (to - s.Reserved).Round(time.Millisecond))
	p.Bars = append(p.Bars, bar{x(s.Reserved), y - 5, max(2, x(to)-x(s.Reserved)), class, text})
	if s.Frozen > 0 {
		p.Bars = append(p.Bars, bar{x(s.Frozen), y - 5, max(2, x(to)-x(s.Frozen)), "frozen", strings.Replace(text, "after", "recovering, after", 1)})
	}
}
