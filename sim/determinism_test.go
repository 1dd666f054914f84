package sim

import (
	"bytes"
	"slices"
	"testing"
)

// TestARunIsTheSameEachTime runs seeds twice and reports the first step in which they differ.
func TestARunIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 6; seed++ {
		o := Options{Seed: seed, Hours: 0.5, Digests: true}
		a, b := Run(o), Run(o)
		if i := differ(a.Digests, b.Digests); i >= 0 {
			t.Errorf("seed %d: two runs differ from step %d on; see both with `sluice sim run --seed %d --hours 0.5`", seed, i+1, seed)
		}
		if a.Verdict != b.Verdict || a.Digest != b.Digest || len(a.Choices) != len(b.Choices) {
			t.Errorf("seed %d: %s %x and %s %x", seed, a.Verdict, a.Digest, b.Verdict, b.Digest)
		}
	}
}

// differ is the first place where two runs differ; -1 if there is none.
func differ(a, b []uint64) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// TestATraceReplaysItsRun: the choices that a run writes down give the very same run, also through a file.
func TestATraceReplaysItsRun(t *testing.T) {
	t.Parallel()
	for seed := uint64(11); seed <= 16; seed++ {
		run := Run(Options{Seed: seed, Hours: 0.5, Digests: true})
		var file bytes.Buffer
		if err := TraceOf(run, "").Write(&file); err != nil {
			t.Fatal(err)
		}
		trace, err := ReadTrace(&file)
		if err != nil {
			t.Fatal(err)
		}
		again := Replay(trace, Options{Digests: true})
		if i := differ(run.Digests, again.Digests); i >= 0 || run.Verdict != again.Verdict {
			t.Errorf("seed %d: the replay of %d choices differs from step %d on: %s, was %s", seed, len(trace.Choices), i+1, again.Verdict, run.Verdict)
		}
		if !slices.Equal(run.Choices, again.Choices) {
			t.Errorf("seed %d: the replay made %d choices, the run %d", seed, len(again.Choices), len(run.Choices))
		}
	}
}

// A world in which nothing goes wrong and nobody writes stays as it is, whatever fleet the seed has drawn.
func TestARunWithoutChoicesHasNoFaults(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 20; seed++ {
		res := Run(Options{Seed: seed, Hours: 0.2, Choices: []Choice{}})
		if res.Verdict != Clean || len(res.Choices) != 0 {
			t.Errorf("seed %d without any choice: %s %s, %d choices", seed, res.Verdict, res.Problem, len(res.Choices))
		}
	}
}
