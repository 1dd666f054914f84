package core

import (
	"slices"
	"time"
)

// sight is when a budget was first seen as it is, and each of its bad shards.
type sight struct {
	mod Revision
	at  MonoTime
	bad []badSight
}

type badSight struct {
	bad BadShard
	at  MonoTime
}

// since is how long a bad shard has been seen as it is. A record that changes for another reason, such as a
// success of other shards, starts nobody's wait anew.
func (s sight) since(at Moment) func(BadShard) time.Duration {
	return func(b BadShard) time.Duration {
		for _, seen := range s.bad {
			if seen.bad == b {
				return at.Mono.Since(seen.at)
			}
		}
		return 0
	}
}

// sights remember since when each budget of a target stands as it does. Retries are waited for from there,
// never until a time that somebody else's clock has written (attack clock-ahead).
type sights map[string]sight

// seeing is the sights after a look at the budgets as they are now.
func (s sights) seeing(at Moment, failures []Seen[FailureRecord]) sights {
	if s.stand(failures) {
		return s
	}
	now := sights{}
	for _, f := range failures {
		was, ok := s[f.Key]
		if ok && was.mod == f.Mod {
			now[f.Key] = was
			continue
		}
		next := sight{mod: f.Mod, at: at.Mono}
		for _, b := range f.Value.BadShards {
			next.bad = append(next.bad, badSight{b, at.Mono.Add(-was.since(at)(b))})
		}
		now[f.Key] = next
	}
	return now
}

// stand reports whether the budgets are those that were seen last.
func (s sights) stand(failures []Seen[FailureRecord]) bool {
	for _, f := range failures {
		if was, ok := s[f.Key]; !ok || was.mod != f.Mod {
			return false
		}
	}
	return len(s) == len(failures)
}

// due are the shards of an endpoint that every budget of the target lets run now, and when more of them may:
// its own, and those that touch them; the latest of the records counts, so a new endpoint name starts nothing
// over (attack new-names).
func (s sights) due(at Moment, failures []Seen[FailureRecord], e Endpoint, shards []ShardID) (due []ShardID, next alarm) {
	for _, f := range failures {
		seen, bad := s.seen(at, f), s[f.Key].since(at)
		due := f.Value.due(e, shards, seen, bad)
		if wait := f.Value.untilDue(seen, bad); len(due) < len(shards) && wait > 0 {
			next = earliest(next, alarmAt(at.Mono.Add(wait)))
		}
		shards = due
	}
	return shards, next
}

// waits reports whether a failure of the endpoint, or of what it has, is still waited for, and not only bad
// shards by themselves.
func (s sights) waits(at Moment, failures []Seen[FailureRecord], e Endpoint, shards []ShardID) bool {
	for _, f := range failures {
		concerned := slices.ContainsFunc(shards, func(s ShardID) bool { return f.Value.concerns(e, s) })
		if concerned && s.seen(at, f) < time.Duration(f.Value.Delay)*time.Millisecond {
			return true
		}
	}
	return false
}

// seen is how long a budget has stood as it does.
func (s sights) seen(at Moment, f Seen[FailureRecord]) time.Duration {
	return at.Mono.Since(s[f.Key].at)
}
