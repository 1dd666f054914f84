package engine

import (
	"bytes"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// messages has one of each kind, with every field set.
var messages = []any{
	ready{Pylance: Pylance, PID: 7},
	job{
		Job: Job{
			URI:            "s3://lake/a b/ü.lance",
			StorageOptions: map[string]string{"aws_secret_access_key": "s\"e\ncret"},
			BaseVersion:    1 << 60,
			Shards: []Shard{{Shard: "s", Mark: 3, Generations: []Generation{
				{Generation: 4, Path: "x_gen_4", Bytes: core.Unmeasured}, {Generation: 5, Path: "y_gen_5", Bytes: 1 << 40},
			}}},
		},
		ReadThreads: 8, Without: []guard.Name{guard.NewestWins},
	},
	proceed{},
	Progress{Phase: PhaseMerge, Rows: 1, Batches: 2, Bytes: 3},
	Plan{Rows: 1, Tombstones: 2, Commits: 2, Rebasable: true, ReadVersion: 3},
	Done{RowsUpserted: 1, RowsDeleted: 2, Version: 1 << 60},
	failed{Code: core.CodeKeyInTwoShards, Message: "m <\u2028>", Shard: "a", Generation: 9, Other: "b"},
}

func TestEveryMessageIsTheSameInBothLanguages(t *testing.T) {
	t.Parallel()
	python, err := FindPython(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	for _, m := range messages {
		line, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(line)
	}
	refused := []string{
		`{"type":"plan","body":{"rows":1,"tombstones":0,"commits":1,"rebasable":true,"more":1}}`,
		`{"type":"plan","body":{"rows":1}}`,
		`{"type":"gossip","body":{}}`,
	}
	said.WriteString(strings.Join(refused, "\n"))
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/echo.py", "python")
	cmd.Stdin = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	heard := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(heard) != len(messages)+len(refused) {
		t.Fatalf("Python said %d lines, want %d:\n%s", len(heard), len(messages)+len(refused), out)
	}
	for i, m := range messages {
		back, err := decode([]byte(heard[i]))
		if err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(back, m) {
			t.Errorf("%s came back as %+v, was %+v", typeOf(m), back, m)
		}
	}
	for i, line := range refused {
		if got := heard[len(messages)+i]; !strings.HasPrefix(got, "refused:") {
			t.Errorf("Python takes %s as %s", line, got)
		}
		if i == 1 {
			continue // what Python leaves out is a fault of ours that this test would show above
		}
		if m, err := decode([]byte(line)); err == nil {
			t.Errorf("Go takes %s as %+v", line, m)
		}
	}
}

func TestTheTailOfAStreamIsKept(t *testing.T) {
	t.Parallel()
	var kept tail
	var all strings.Builder
	for i := range 2000 {
		part := strings.Repeat(string(rune('a'+i%26)), i%97)
		all.WriteString(part)
		kept.Write([]byte(part))
	}
	kept.Write([]byte(strings.Repeat("z", 3*tailBytes)))
	kept.Write([]byte("the end"))
	all.WriteString(strings.Repeat("z", 3*tailBytes) + "the end")
	if want := all.String()[all.Len()-tailBytes:]; kept.String() != want {
		t.Errorf("kept %d bytes that end with %q", len(kept.String()), kept.String()[len(kept.String())-20:])
	}
}
