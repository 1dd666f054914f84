package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestSimRunAndReplayKeepTheHistoryOfOneSeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "seed.history.jsonl")
	if out, err := simCommandOf(t, "run", "--seed", "3", "--hours", "0.1", "--history", name); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for d := json.NewDecoder(f); d.More(); lines++ {
		var operation map[string]any
		if err := d.Decode(&operation); err != nil {
			t.Fatalf("line %d: %v", lines+1, err)
		}
	}
	if lines < 20 {
		t.Errorf("the history has %d operations", lines)
	}
	if _, err := simCommandOf(t, "run", "--seeds", "1..2", "--history", name); err == nil {
		t.Error("two seeds have no one history")
	}
}
