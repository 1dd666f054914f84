package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// maxWait is the longest pause before a next attempt that a person is made to wait for.
const maxWait = 2 * time.Minute

// onlyBad is the failure of a bad shard, if only bad ones are left.
func onlyBad(t rest.Target) error {
	var last error
	for _, s := range t.Pending.Shards {
		bad := false
		for _, f := range t.Failures {
			i := slices.IndexFunc(f.BadShards, func(b core.BadShard) bool { return b.Shard == s.Shard })
			if i < 0 {
				continue
			}
			b := f.BadShards[i]
			bad, last = true, core.Failure{Code: b.Code, Detail: b.Detail, Shard: b.Shard, Generation: b.Generation}
		}
		if !bad {
			return nil
		}
	}
	return last
}

// stuck says why nothing will run in a time that a person would wait for.
func stuck(p rest.Progress) error {
	switch p.Reason {
	case core.ReasonBackoff, core.ReasonAttention:
		for _, f := range p.Failures {
			if wait := time.Duration(f.Delay) * time.Millisecond; wait > maxWait {
				return core.Failure{Code: f.Code, Detail: fmt.Sprintf("%s; it failed %d times, and is tried again after %v, or when you run this command again", f.LastError, f.Attempts, wait)}
			}
		}
	case core.ReasonDraining, core.ReasonLatched:
		return fmt.Errorf("it can't be merged now: %s", p.Reason)
	}
	return nil
}
