package sim

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// mustReach is what a standard batch has to reach; a simulator that never gets there checks nothing of it.
var mustReach = strings.Split(strings.TrimSpace(`
event Tick
event Changed
event Committed
event ReadDone
event Surveyed
event FenceDone
event NumberDone
event Replied
event StartRequested
event CancelRequested
event StatusRequested
event CommitRequested
event CommitSettled
event CommitDropped
event EngineReported
event EnginePlanned
event EngineEnded
event MergeRequested
event AdoptRequested
transaction register
transaction latch
transaction begin-adoption
transaction end-adoption
transaction post-demand
transaction charge
transaction attend
transaction reserve
transaction start
transaction admit
transaction progress
transaction finish
transaction freeze
transaction finish-recovery
transaction release
phase uncertain
phase recovering
phase recovered
rule not-running
rule next-only
rule marks
rule mem-wal
rule read-version
rare: a fence lands
rare: an adoption lands
rare: a put that was answered badly is read back as landed
rare: a kv request took effect and its answer got lost
rare: a watch starts from a snapshot, since its past was compacted
rare: crash between two effects
rare: an engine dies while its commit is in storage
rare: a user restores an older version
rare: a table comes back from an older copy
rare: a table is dropped and made anew
fault: a process has a twin
fault: a lease ends under a live holder
fault: the KV is away
fault: the lake is away
merged
`), "\n")

// standardBatch is how many seeds, of an hour each, have to come to all of it.
const standardBatch = 120

// TestAStandardBatchReachesWhatItMust runs a fixed batch and looks what it has never come to.
func TestAStandardBatchReachesWhatItMust(t *testing.T) {
	t.Parallel()
	reached, mu := coverage{}, sync.Mutex{}
	next := atomic.Uint64{}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := next.Add(1); seed <= standardBatch; seed = next.Add(1) {
				res := Run(Options{Seed: seed, Hours: 1, CheckTime: 1})
				mu.Lock()
				for k, n := range res.Coverage {
					reached[k] += n
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	for _, want := range mustReach {
		if reached[want] == 0 {
			t.Errorf("%d seeds never come to %q", standardBatch, want)
		}
	}
}
