package sim

import (
	"time"

	"github.com/sluice-data/sluice/core"
)

// clock is a process's own idea of the time: a monotonic clock that may drift, and a wall clock that may
// stand anywhere and jump.
type clock struct {
	born  core.MonoTime // of the world, when it was made
	zero  core.MonoTime // what it showed then
	drift int64         // how much it runs too fast, in thousandths
	skew  core.WallMillis
}

// mono is the reading of the monotonic clock at a moment of the world.
func (c clock) mono(now core.MonoTime) core.MonoTime {
	elapsed := now - c.born
	return c.zero + elapsed + core.MonoTime(c.drift)*(elapsed/1000)
}

// when is the first moment of the world at which the clock shows t.
func (c clock) when(t core.MonoTime) core.MonoTime {
	at := c.born + (t-c.zero)*1000/core.MonoTime(1000+c.drift)
	for shown := c.mono(at); shown < t; shown = c.mono(at) {
		at += t - shown
	}
	return at
}

func (c clock) wall(now core.MonoTime) core.WallMillis {
	return wallEpoch + c.skew + core.WallMillis(time.Duration(now).Milliseconds())
}
