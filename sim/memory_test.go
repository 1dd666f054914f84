package sim

import (
	"runtime"
	"testing"
	"time"
)

// TestALongRunNeedsNoMoreMemoryThanAShortOne looks at the heap after each hour. It runs alone: not in parallel.
func TestALongRunNeedsNoMoreMemoryThanAShortOne(t *testing.T) {
	var heap []uint64
	o := BenchRun(2, 8)
	o.Forget, o.Every = true, time.Hour
	o.Look = func() {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = append(heap, m.HeapAlloc)
	}
	res := Run(o)
	if res.Verdict != Clean || len(heap) < 8 || res.Faults == 0 || len(res.Choices) != 0 {
		t.Fatalf("%s: %s; %d hours seen, %d faults, %d choices kept", res.Verdict, res.Problem, len(heap), res.Faults, len(res.Choices))
	}
	if half, last := heap[3], heap[7]; last > half+half/3 {
		t.Errorf("the heap grows: %v bytes after each hour", heap)
	}
}
