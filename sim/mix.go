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
			Lose: 20, Slow: 20, Lag: 40, Twice: 20, KVLose: 15, LakeLose: 15, Blind: 15, Crash: 1, Put: 50, Late: 200,
			Engine: 40, Work: 10 * time.Second, Every: time.Minute,
			Process: 40, Pause: 40, Cut: 40, KVDown: 10, LakeDown: 10, Clock: 15, Compact: 20,
			Write: 30 * time.Second, Client: 30 * time.Second,
		},
	}
}
