package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sluice-data/sluice/sim"
)

// withHistory runs something and keeps its history in a file: one operation a line. No name means no history.
func withHistory(name string, run func(io.Writer) sim.Result) (sim.Result, error) {
	if name == "" {
		return run(nil), nil
	}
	f, err := os.Create(name)
	if err != nil {
		return sim.Result{}, fmt.Errorf("write the history: %w", err)
	}
	r := run(f)
	if err := f.Close(); err != nil {
		return r, fmt.Errorf("write the history: %w", err)
	}
	return r, nil
}

// besideTrace is where the history of a failing run goes.
func besideTrace(trace string) string { return strings.TrimSuffix(trace, ".jsonl") + ".history.jsonl" }
