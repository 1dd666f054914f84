package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// StandardMix is the fleet and the faults that figures are given for: 2 masters, 4 workers and 8 tables with the
// default limits, each kind of fault at the middle of what seeds usually draw. Every table is written all the
// time, often enough for a dozen merges an hour at least.
func StandardMix(seed uint64, hours float64) Profile {
	return Profile{
		Seed: seed, Hours: hours, Masters: 2, Workers: 4, Tables: 8, Shards: 2, Slots: 2, Pass: 4,
		Limits: core.Limits{
			Queue: 10 * time.Minute, Execution: 20 * time.Minute, NoProgress: 3 * time.Minute, CancelGrace: time.Minute,
			Barrier: 2 * time.Minute, Probe: 10 * time.Second, KVHold: time.Minute, Poll: 15 * time.Second,
		},
		Rates: Rates{
			Lose: 30, Slow: 20, Lag: 60, Twice: 30, KVLose: 25, LakeLose: 20, Blind: 20, Stale: 10, Crash: 1, Put: 75, Late: 200,
			Engine: 125, Work: 10 * time.Second, Every: 22 * time.Second,
			Process: 50, Pause: 50, Cut: 50, KVDown: 25, LakeDown: 15, Clock: 15, History: 6, Operator: 50, Compact: 20,
			Write: 30 * time.Second, Client: 30 * time.Second,
		},
	}
}
