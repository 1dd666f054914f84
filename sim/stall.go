package sim

import (
	"math/rand/v2"
	"strings"
	"time"
)

// Races are lost in milliseconds: between a read and the transaction that was judged by it, between an Admit and
// the Freeze that overtakes it. To see what happens in between, a seed may choose steps of the protocol that are
// slow for everybody: their requests reach the KV or the lake seconds later, or their answers come back so.

// stallable are the steps that may be chosen: transactions by their names, and other requests by their kinds.
var stallable = []string{
	"admit", "charge", "finish", "finish-recovery", "freeze", "progress", "post-demand", "read", "release", "reserve", "start",
	"fence", "number", "survey", "cancel", "probe",
}

// drawStalls chooses up to two of them, or none.
func drawStalls(r *rand.Rand) []string {
	var out []string
	for range r.IntN(3) {
		out = append(out, stallable[r.IntN(len(stallable))])
	}
	return out
}

// stall is how much longer a step takes on its way there, and its answer on the way back.
func (s *storm) stall(what, who string) (there, back time.Duration) {
	if !strings.Contains(" "+strings.Join(s.stalls, " ")+" ", " "+what+" ") {
		return 0, 0
	}
	v := s.choose("stall/"+who+"/"+what, who, func(r *rand.Rand) int64 {
		if !often(r, stallRate) {
			return 0
		}
		// The time is spread over its magnitudes, from a tenth of a second to a minute and a half.
		ms := int64(100) << r.IntN(10)
		return 2*(ms+r.Int64N(ms)) + r.Int64N(2)
	})
	if d := time.Duration(v/2) * time.Millisecond; v%2 == 0 {
		return d, 0
	} else {
		return 0, d
	}
}

// stallRate is per mille of the steps that are chosen.
const stallRate = 300
