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
	over   bool
	// whole are the processes that nothing happens to any more; nil while the faults last.
	whole map[string]bool
}

func (s *storm) weather() weather {
	return weather{delay: s.delay, lose: s.lose, twice: s.twice, put: s.put, crash: s.crash, blind: s.blind, stale: s.stale, stall: s.stall, script: s.script}
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

// put fates, in the lowest digit of the choice; the rest of it is milliseconds.
const (
	putFine   = iota
	putNever  // silence, and it never lands
	putLate   // silence, and it lands later: seconds, minutes or hours
	put500    // it lands, and the answer is an error
	put503    // it doesn't land, and the answer is an error
	putSoon   // silence, though it has landed
	put500Lat // an error at once, and it lands later
	put403    // it doesn't land: refused
	putKinds
)

func (s *storm) put(who string) putFate {
	v := s.choose("put/"+who+"/fate", who, func(r *rand.Rand) int64 {
		if !often(r, s.rates.Put) {
			return 0
		}
		kind := 1 + r.Int64N(putKinds-1)
		if often(r, s.rates.Late) {
			kind = []int64{putLate, put500Lat}[r.IntN(2)]
		}
		// The time is spread over its magnitudes, from a tenth of a second to hours.
		ms := int64(100) << r.IntN(17)
		return kind + 10*(ms+r.Int64N(ms))
	})
	later := time.Duration(v/10) * time.Millisecond
	switch v % 10 {
	case putNever:
		return putFate{never: true}
	case putLate:
		return putFate{lands: later}
	case put500:
		return putFate{answer: 500}
	case put503:
		return putFate{answer: 503, never: true}
	case putSoon:
		return putFate{}
	case put500Lat:
		return putFate{answer: 500, lands: later}
	case put403:
		return putFate{answer: 403, never: true}
	}
	return putFate{answer: 200}
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
func (s *storm) blind(who string) bool { return s.yes("lake/"+who+"/blind", who, s.rates.Blind) }

func (s *storm) stale(who string) int {
	return int(s.choose("lake/"+who+"/stale", who, func(r *rand.Rand) int64 {
		if !often(r, s.rates.Stale) {
			return 0
		}
		return 1 + r.Int64N(3)
	}))
}

// script says how the engine of the next execution of a worker behaves.
func (s *storm) script(who string) engineScript {
	v := s.choose("engine/"+who+"/script", who, func(r *rand.Rand) int64 {
		if !often(r, s.rates.Engine) {
			return 0
		}
		return r.Int64N(10) + 10*(1+r.Int64N(900))
	})
	e := engineScript{real: true}
	if s.rates.Work > 0 && s.whole == nil {
		e.trickle = time.Duration(s.src.jitter("engine/"+who, int64(s.rates.Work)))
		e.quiet = s.src.jitter("quiet/"+who, 2) == 1
		e.writes = time.Duration(s.src.jitter("writes/"+who, int64(min(s.rates.Work, 20*time.Second))))
	}
	slow := time.Duration(v/10) * time.Second
	switch v % 10 {
	case 1:
		e.silent = true
	case 2:
		e.deaf = true
	case 3:
		e.lying = true
	case 4:
		e.fail = core.Failure{Code: core.CodeEngineOOM, Detail: "out of memory"}
	case 5:
		if s.whole != nil {
			break // what is wrong with the data is not a matter of the worker
		}
		e.fail = core.Failure{Code: core.CodeSSTableCorrupt, Detail: "corrupt", Shard: "s001", Generation: 1}
	case 6:
		e.trickle = slow // it works, slowly
	case 7:
		e.trickle, e.idle = 24*time.Hour, true // it only says that it lives
	case 8:
		e.two = true
	case 9:
		e.rogue = 1 + int(v/100)%3
	case 0:
		e.dies = v != 0
	}
	return e
}
