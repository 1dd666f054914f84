package sim

import (
	"runtime"
	"testing"
)

// TestALongRunNeedsNoMoreMemoryThanAShortOne looks at the heap after each hour. It runs alone: not in parallel.
func TestALongRunNeedsNoMoreMemoryThanAShortOne(t *testing.T) {
	var heap []uint64
	mix := StandardMix(2, 8)
	res := Run(Options{Seed: mix.Seed, Hours: mix.Hours, Profile: &mix, Forget: true, Watch: func(int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = append(heap, m.HeapAlloc)
	}})
	if res.Verdict != Clean || len(heap) != 8 || res.Faults == 0 || len(res.Choices) != 0 {
		t.Fatalf("%s: %s; %d hours seen, %d faults, %d choices kept", res.Verdict, res.Problem, len(heap), res.Faults, len(res.Choices))
	}
	if first, last := heap[3], heap[7]; last > first+first/3 {
		t.Errorf("the heap grows: %v bytes after each hour", heap)
	}
}
