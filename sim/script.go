package sim

import (
	"math/rand/v2"
	"time"

	"github.com/sluice-data/sluice/core"
)

// script says how the engine of the next execution of a worker behaves.
func (s *storm) script(who string) engineScript {
	v := s.choose("engine/"+who+"/script", who, func(r *rand.Rand) int64 {
		if !often(r, s.rates.Engine) {
			return 0
		}
		return r.Int64N(16) + 16*(1+r.Int64N(900))
	})
	e := engineScript{real: true, memory: s.memory}
	if s.rates.Work > 0 && s.whole == nil {
		e.trickle = time.Duration(s.src.jitter("engine/"+who, int64(s.rates.Work)))
		e.quiet = s.src.jitter("quiet/"+who, 2) == 1
		e.writes = time.Duration(s.src.jitter("writes/"+who, int64(min(s.rates.Work, 20*time.Second))))
	}
	slow := time.Duration(v/16) * time.Second
	switch v % 16 {
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
	case 9, 12, 13, 14, 15:
		e.rogue = 1 + int(v/16)%rogues
	case 10:
		e.fail = core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 11"}
	case 11:
		e.fail = core.Failure{Code: core.CodeEngineUnknown, Detail: "something that no rule names"}
	case 0:
		e.dies = v != 0
	}
	return e
}
