package main

import (
	"bytes"
	"strings"
	"testing"
)

// It runs alone, since it measures on one core: not in parallel.
func TestSimBenchPrintsItsFigures(t *testing.T) {
	got, err := simBench(0.2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.CoreSpeed == 0 || got.Speed == 0 || got.Judged == 0 || got.Merges == 0 || got.PerTable == 0 || len(got.HeapMB) == 0 {
		t.Errorf("a figure is missing: %+v", got)
	}
	var out bytes.Buffer
	if err := got.print(&out); err != nil || strings.Count(out.String(), "\n") != 5 || strings.Contains(out.String(), "%!") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
