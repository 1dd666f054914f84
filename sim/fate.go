package sim

import (
	"math/rand/v2"
	"time"
)

// putFate is what becomes of one manifest that was sent to storage.
type putFate struct {
	// answer is what the sender hears: an HTTP status, or 0 for silence.
	answer int
	// lands is when the file takes effect, if it does at all.
	lands time.Duration
	never bool
}

// The fates, in the lowest digit (of sixteen) of a choice; the rest of it is milliseconds.
const (
	putFine   = iota
	putNever  // silence, and it never lands
	putLate   // silence, and it lands later: seconds, minutes or hours
	put500    // it lands, and the answer is an error
	put503    // it doesn't land, and the answer is an error
	putSoon   // silence, though it has landed
	put500Lat // an error at once, and it lands later
	put403    // it doesn't land: refused
	put409    // a conflict with another request is told, and it lands later
	put409Not // the same, and it never lands
	put412    // it lands, and a client that sent it twice hears that it exists
	putKinds
)

func (s *storm) put(who string) putFate {
	v := s.choose("put/"+who+"/fate", who, func(r *rand.Rand) int64 {
		if !often(r, s.rates.Put) {
			return putFine
		}
		kind := 1 + r.Int64N(putKinds-1)
		if often(r, s.rates.Late) {
			kind = []int64{putLate, put500Lat, put409}[r.IntN(3)]
		}
		// The time is spread over its magnitudes, from a tenth of a second to hours.
		ms := int64(100) << r.IntN(17)
		return kind + 16*(ms+r.Int64N(ms))
	})
	later := time.Duration(v/16) * time.Millisecond
	switch v % 16 {
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
	case put409:
		return putFate{answer: 409, lands: later}
	case put409Not:
		return putFate{answer: 409, never: true}
	case put412:
		return putFate{answer: 412}
	}
	return putFate{answer: 200}
}
