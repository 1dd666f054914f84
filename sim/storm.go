package sim

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// storm is the weather of a seed: every answer is a choice of its source. Once it is over, what is broken
// for good stays so and nothing new happens.
type storm struct {
	src   *source
	rates Rates
	// stalls are the steps that are slow, see stall.go.
	stalls []string
	// memory is what the engines of the fleet can take; 0: any number.
	memory core.Bytes
	over   bool
	// whole are the processes that nothing happens to any more; nil while the faults last.
	whole map[string]bool
}

func (s *storm) weather() weather {
	return weather{delay: s.delay, lose: s.lose, twice: s.twice, put: s.put, crash: s.crash, blind: s.blind, stale: s.stale, gap: s.gap, stall: s.stall, script: s.script}
}

// often draws whether something happens.
func often(r *rand.Rand, permille int) bool { return r.IntN(1000) < permille }

func (s *storm) choose(name, who string, draw func(r *rand.Rand) int64) int64 {
	storage := strings.HasPrefix(name, "lake/") || strings.HasPrefix(name, "put/")
	if s.over || s.whole[who] || s.whole != nil && storage { // the lake becomes whole for everybody
		return 0
	}
	return s.src.choose(name, draw)
}

// delay is a few milliseconds, or for a slow message seconds: so messages overtake each other.
func (s *storm) delay(kind, who string) time.Duration {
	name := kind + "/" + who
	usual := time.Millisecond + time.Duration(s.src.jitter(name, int64(20*time.Millisecond)))
	slow := s.rates.Slow
	if kind == "watch" {
		slow = s.rates.Lag
	}
	more := s.choose(name+"/slow", who, func(r *rand.Rand) int64 {
		if !often(r, slow) {
			return 0
		}
		return 1 + r.Int64N(20_000)
	})
	return usual + time.Duration(more)*time.Millisecond
}

func (s *storm) lose(kind, who string) (lost, done bool) {
	rate := map[string]int{"kv": s.rates.KVLose, "lake": s.rates.LakeLose, "rpc": s.rates.Lose}[kind]
	v := s.choose(kind+"/"+who+"/lose", who, func(r *rand.Rand) int64 {
		if !often(r, rate) {
			return 0
		}
		return 1 + r.Int64N(2)
	})
	return v != 0, v == 2
}

func (s *storm) twice(kind, who string) (time.Duration, bool) {
	v := s.choose(kind+"/"+who+"/twice", who, func(r *rand.Rand) int64 {
		if !often(r, s.rates.Twice) {
			return 0
		}
		return 1 + r.Int64N(60_000)
	})
	return time.Duration(v) * time.Millisecond, v != 0
}

func (s *storm) yes(name, who string, permille int) bool {
	return s.choose(name, who, func(r *rand.Rand) int64 {
		if often(r, permille) {
			return 1
		}
		return 0
	}) != 0
}

func (s *storm) crash(who string) bool { return s.yes("crash/"+who, who, s.rates.Crash) }

// blind and stale say what a look at storage misses; kind names who looks, a machine or a gate.
func (s *storm) blind(kind, who string) bool {
	return s.yes("lake/"+who+"/"+kind+" blind", who, s.rates.Blind)
}

func (s *storm) stale(kind, who string) int {
	return int(s.choose("lake/"+who+"/"+kind+" stale", who, func(r *rand.Rand) int64 {
		if !often(r, s.rates.Stale) {
			return 0
		}
		return 1 + r.Int64N(3)
	}))
}

// gap is how long a commit takes from the look that it was made on to its gate, so that others come between.
func (s *storm) gap(who string) time.Duration {
	d := time.Duration(s.src.jitter("gap/"+who, int64(240*time.Millisecond)))
	if d >= 210*time.Millisecond { // now and then it dawdles
		return 2 * d
	}
	return d / 7
}
