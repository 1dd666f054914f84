package sim

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-data/sluice/core"
)

// wanted is the state of a table's demand: what is asked for, and what an execution has taken.
type wanted struct {
	asked, taken []core.ShardID
	mod          core.Revision // of the demand's record; someRevision after a write that nobody was told of
	rev          core.Revision // of the last write that is known
	end          bool
}

const someRevision core.Revision = -1

// follows reports whether a write that compared this revision may come next.
func (s wanted) follows(seen core.Revision) bool {
	return s.mod == seen || s.mod == someRevision && seen > s.rev
}

// demandModel: what was asked for is there, or with an execution; an execution gives back what it has not
// served.
func demandModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return wanted{} },
		Step: func(state, input, _ any) (bool, any) {
			s, c := state.(wanted), input.(demandCall)
			next := wanted{asked: c.asked, taken: s.taken, mod: c.mod, rev: max(s.rev, c.rev, c.seen)}
			switch {
			case c.what == demandRead:
				return slices.Equal(s.asked, c.asked) && slices.Equal(s.taken, c.taken), wanted{s.asked, s.taken, s.mod, s.rev, true}
			case c.outcome == core.NotApplied:
				return true, s
			case s.end:
				return c.outcome == core.Unknown, s
			case !s.follows(c.seen) || c.rev != 0 && c.rev <= s.rev:
				return false, s
			case c.what == demandTake:
				rest := slices.DeleteFunc(slices.Clone(s.asked), func(x core.ShardID) bool { return slices.Contains(c.taken, x) })
				next.taken = c.taken
				return slices.Equal(rest, c.asked), next
			case c.what == demandGive:
				for _, x := range slices.Concat(s.taken, s.asked) {
					served := slices.Contains(c.served, x) && slices.Contains(s.taken, x)
					if !served && !slices.Contains(c.asked, x) {
						return false, s
					}
				}
				next.taken = nil
				return slices.Equal(s.taken, c.taken), next
			}
			return true, next
		},
		Equal: func(a, b any) bool {
			x, y := a.(wanted), b.(wanted)
			return x.end == y.end && x.mod == y.mod && x.rev == y.rev && slices.Equal(x.asked, y.asked) && slices.Equal(x.taken, y.taken)
		},
	}
}
