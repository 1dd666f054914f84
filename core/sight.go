package core

// sight is when a record was first seen as it is.
type sight struct {
	mod Revision
	at  MonoTime
}

// sights remember since when each budget of a target stands as it does. Retries are waited for from there,
// never until a time that somebody else's clock has written (attack clock-ahead).
type sights map[string]sight

// seeing is the sights after a look at the budgets as they are now.
func (s sights) seeing(at Moment, failures []Seen[FailureRecord]) sights {
	now := sights{}
	for _, f := range failures {
		was, ok := s[f.Key]
		if !ok || was.mod != f.Mod {
			was = sight{f.Mod, at.Mono}
		}
		now[f.Key] = was
	}
	return now
}

// due are the shards that every budget of the target lets run now, and when more of them may: the latest
// of the records counts, so a new endpoint name starts nothing over (attack new-names).
func (s sights) due(at Moment, failures []Seen[FailureRecord], shards []ShardID) (due []ShardID, next alarm) {
	for _, f := range failures {
		seen := at.Mono.Since(s[f.Key].at)
		due := f.Value.Due(shards, seen)
		if wait := f.Value.NextDue(seen); len(due) < len(shards) && wait > 0 {
			next = earliest(next, alarmAt(at.Mono.Add(wait-seen)))
		}
		shards = due
	}
	return shards, next
}
