package sim

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestAHistoryIsWrittenOneOperationALine: everything that was asked is there, with what is known of it, and writing it
// down changes nothing.
func TestAHistoryIsWrittenOneOperationALine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	quiet, loud := Run(Options{Seed: 4, Hours: 0.5}), Run(Options{Seed: 4, Hours: 0.5, History: &out})
	if quiet.Digest != loud.Digest || loud.Verdict != Clean {
		t.Errorf("%s %x with its history, %x without", loud.Verdict, loud.Digest, quiet.Digest)
	}
	kinds, unknown := map[string]int{}, 0
	for text := range strings.Lines(out.String()) {
		var line struct {
			Object, Client, Kind string
			Call                 int64  `json:"call_ns"`
			Effect               *int64 `json:"effect_ns"`
			Return               *int64 `json:"return_ns"`
			Unknown              bool
			Input, Output        json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		object, _, _ := strings.Cut(line.Object, " for ")
		object, _, _ = strings.Cut(object, " of ")
		kinds[object+": "+line.Kind]++
		answered := line.Return != nil
		switch {
		case line.Client == "" || len(line.Input) == 0, answered == line.Unknown, answered != (len(line.Output) > 0):
			t.Errorf("it is not said who asked what, or what became of it: %s", text)
		case line.Effect == nil && strings.Contains(string(line.Output), "not applied"): // a post that changed nothing
		case answered && (line.Effect == nil || *line.Effect < line.Call || *line.Effect > *line.Return):
			t.Errorf("it took effect outside of its call and return: %s", text)
		}
		if line.Unknown {
			unknown++
		}
	}
	for _, want := range []string{"the KV: admit", "the KV: read", "the versions: put", "the versions: look", "the demand: post", "the demand: take", "the demand: give"} {
		if kinds[want] == 0 {
			t.Errorf("there is no %q among %v", want, kinds)
		}
	}
	if unknown == 0 {
		t.Error("every request was answered: the seed has no faults")
	}
}
