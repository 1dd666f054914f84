package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Trace is a run that can be played again: its seed, which says how the fleet is made and how long messages
// take, and the schedule of its choices. Written, it is a head and then one choice a line.
type Trace struct {
	Head
	Choices []Choice
}

// Head is the first line of a trace.
type Head struct {
	Seed    uint64  `json:"seed"`
	Hours   float64 `json:"hours"`
	Profile string  `json:"profile,omitempty"` // the named one
	Commit  string  `json:"commit,omitempty"`  // of the program that made it
	Planted string  `json:"planted,omitempty"`
	Verdict Verdict `json:"verdict"`
	Problem string  `json:"problem"`
	Steps   int     `json:"steps"`
	Digest  string  `json:"digest"`
}

// TraceOf is the trace of a run.
func TraceOf(r Result, commit string) Trace {
	return Trace{Head{
		Seed: r.Seed, Hours: r.Hours, Profile: r.Profile.Name, Commit: commit, Verdict: r.Verdict, Problem: r.Problem, Steps: r.Steps,
		Digest: fmt.Sprintf("%016x", r.Digest),
	}, r.Choices}
}

// Write writes a trace as JSONL.
func (t Trace) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	if err := e.Encode(t.Head); err != nil {
		return fmt.Errorf("write the head of a trace: %w", err)
	}
	for _, c := range t.Choices {
		if err := e.Encode(c); err != nil {
			return fmt.Errorf("write a trace: %w", err)
		}
	}
	return b.Flush()
}

// ReadTrace reads what [Trace.Write] has written.
func ReadTrace(r io.Reader) (Trace, error) {
	d := json.NewDecoder(bufio.NewReader(r))
	t := Trace{Choices: []Choice{}}
	if err := d.Decode(&t.Head); err != nil {
		return t, fmt.Errorf("read the head of a trace: %w", err)
	}
	if _, err := ProfileNamed(t.Profile, t.Seed, t.Hours); err != nil {
		return t, fmt.Errorf("read the head of a trace: %w", err)
	}
	for d.More() {
		var c Choice
		if err := d.Decode(&c); err != nil {
			return t, fmt.Errorf("read choice %d of a trace: %w", len(t.Choices)+1, err)
		}
		t.Choices = append(t.Choices, c)
	}
	return t, nil
}

// Replay plays a trace again.
func Replay(t Trace, o Options) Result {
	o.Seed, o.Hours, o.Choices = t.Seed, t.Hours, t.Choices
	if p, err := ProfileNamed(t.Profile, t.Seed, t.Hours); err == nil && t.Profile != "" {
		o.Profile = &p
	}
	if o.Choices == nil {
		o.Choices = []Choice{}
	}
	return Run(o)
}
