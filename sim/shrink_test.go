package sim

import "testing"

// Two of five choices make this run fail together; the other three go.
func TestShrinkKeepsWhatMakesARunFail(t *testing.T) {
	t.Parallel()
	all := []Choice{{"a", 1, 1}, {"a", 2, 1}, {"b", 1, 7}, {"b", 9, 1}, {"c", 3, 1}}
	fails := func(choices []Choice) (Trace, bool) {
		need := 0
		for _, c := range choices {
			if c == all[1] || c == all[3] {
				need++
			}
		}
		return Trace{Choices: choices}, need == 2
	}
	small := shrink(Trace{Choices: all}, fails, func(int) bool { return true })
	if len(small.Choices) != 2 || small.Choices[0] != all[1] || small.Choices[1] != all[3] {
		t.Errorf("expected the two choices that matter, got %v", small.Choices)
	}
}
