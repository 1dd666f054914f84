package core

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// FailureRecord is the budget of one (target, endpoint): the durable record of its repeated failures.
// It never goes down except by that pair's own success (invariant 5).
type FailureRecord struct {
	Target    Target     `json:"target"`
	Endpoint  Endpoint   `json:"endpoint"`
	Class     Class      `json:"class,omitempty"`
	Code      Code       `json:"code,omitempty"`
	Attempts  int        `json:"consecutive_attempts"`
	LastError string     `json:"last_error,omitempty"`
	Last      WallMillis `json:"last_failure_ms,omitempty"`
	// Delay is what a reader waits, from its own first sight of the record: a writer whose clock is
	// ahead can't postpone the retry for hours (attack clock-ahead). Next is only shown.
	Delay     int64      `json:"delay_ms,omitempty"`
	Next      WallMillis `json:"next_retry_ms,omitempty"`
	Attention bool       `json:"needs_attention"`
	// BadShards are left out of passes until their own retry is due, which is waited for like Delay.
	BadShards []BadShard `json:"bad_shards,omitempty"`
	// Suspects are what the last pass took that failed without naming a culprit, and Split is how often they
	// have been halved since: see suspect.go.
	Suspects []ShardPlan `json:"failed_pass,omitempty"`
	Split    int         `json:"split_depth,omitempty"`
	// Touched is what the last failed pass took, and Streak how often in a row that has failed, under whatever
	// names: see touch.go.
	Touched []ShardPlan `json:"touched,omitempty"`
	Streak  int         `json:"streak,omitempty"`
	// Queued counts the reservations in a row that nobody started in time. They charge nothing, and are waited
	// for all the same.
	Queued int `json:"queue_limits,omitempty"`
	// PassBytes bounds the next pass after one that ran out of memory; 0 means that nothing does. It is kept
	// when the rest is cleared (attack oom-loop).
	PassBytes Bytes `json:"pass_bytes,omitempty"`
}

// BadShard is one shard whose data stops a pass.
type BadShard struct {
	Shard      ShardID    `json:"shard"`
	Generation Generation `json:"generation,omitempty"`
	Code       Code       `json:"code"`
	Detail     string     `json:"detail,omitempty"`
	Delay      int64      `json:"delay_ms"`
	// Last tells one failure from the next: while nothing of this changes, its wait goes on, whatever else of
	// the record changes.
	Last WallMillis `json:"last_failure_ms,omitempty"`
	// Alone: nothing names this shard, but passes fail with it; it is tried by itself, with a count of its own.
	Alone    bool `json:"alone,omitempty"`
	Attempts int  `json:"attempts,omitempty"`
}

// MaxErrorLength bounds the stored text of an error, in characters.
const MaxErrorLength = 4096

// AttentionFrom is the attempt from which retries are hourly and raise attention.
const AttentionFrom = 15

// retryDelay is the wait after the n-th consecutive failure of a class.
func retryDelay(c Class, n int) (delay time.Duration, attention bool) {
	if c != Transient {
		return time.Hour, true
	}
	steps := []time.Duration{2, 2, 30, 60, 120, 240, 480, 900}
	if n >= AttentionFrom {
		return time.Hour, true
	}
	return steps[min(n, len(steps))-1] * time.Second, false
}

// Charged is the budget after one more failure. A data failure that names its shard leaves that shard
// out of the next pass, which is otherwise due at once (attack one-bad-shard).
func (r FailureRecord) Charged(f Failure, at WallMillis) FailureRecord {
	r.Streak = r.streak() + 1
	r.Attempts++
	r.Code, r.Class = f.Code, f.Code.Class()
	r.LastError = truncate(f.Detail, MaxErrorLength)
	r.Last = at
	delay, attention := retryDelay(r.Class, r.Streak)
	r.Attention = r.Attention && !guard.Out(guard.AttentionForgotten) || attention
	r.Delay = delay.Milliseconds()
	r.Next = at + WallMillis(r.Delay)
	if r.Class != Transient && f.Shard != "" {
		r.BadShards = addBad(r.BadShards, BadShard{Shard: f.Shard, Generation: f.Generation, Code: f.Code, Detail: truncate(f.Detail, 256), Delay: r.Delay, Last: at})
		if f.Other != "" {
			r.BadShards = addBad(r.BadShards, BadShard{Shard: f.Other, Code: f.Code, Detail: truncate(f.Detail, 256), Delay: r.Delay, Last: at})
		}
		if !guard.Out(guard.BadShardWaitsAlone) {
			r.Delay = 0 // the wait is theirs alone
		}
	}
	return r
}

// Queueing is the budget after a reservation that nobody started in time: it backs off, uncharged.
func (r FailureRecord) Queueing(f Failure, at WallMillis) FailureRecord {
	if r.Queued++; r.Attempts == 0 {
		r.Code, r.Class, r.LastError, r.Last = f.Code, f.Code.Class(), truncate(f.Detail, MaxErrorLength), at
	}
	delay, _ := retryDelay(Transient, min(r.Queued, AttentionFrom-1)) // nobody's failure: never hourly
	r.Delay = delay.Milliseconds()
	r.Next = at + WallMillis(r.Delay)
	return r
}

// begun is the budget at the end of an execution of it: one that began ends the row of reservations that nobody started.
// Else a worker that takes no requests would, beside one that takes them, lengthen the wait of both for as long as the
// table does not get a merge done.
func (r FailureRecord) begun(e Execution) FailureRecord {
	if e.Started > 0 && !guard.Out(guard.BeginningEndsQueue) {
		r.Queued = 0
	}
	return r
}

// Waived is the budget of a table that a person has said is in order: due at once, with its attempts and
// its attention as they were.
func (r FailureRecord) Waived() FailureRecord {
	r.Delay, r.Next = 0, 0
	r.BadShards = slices.Clone(r.BadShards)
	for i := range r.BadShards {
		r.BadShards[i].Delay = 0
	}
	return r
}

// Cleared is the budget after a success that merged the given shards; empty is true if nothing of it
// is left to keep. What is known of the passes that failed stays, see [FailureRecord.Learned].
func (r FailureRecord) Cleared(merged []ShardID) (out FailureRecord, empty bool) {
	bad := slices.DeleteFunc(slices.Clone(r.BadShards), func(b BadShard) bool { return slices.Contains(merged, b.Shard) })
	if len(bad) > 0 {
		// The good shards are fine again and wait for nothing; the bad ones keep their attention and their own
		// retry.
		r.BadShards, r.Delay = bad, 0
		if !guard.Out(guard.GoodShardsAreForgiven) {
			// What the good shards have failed before is over, as at any success: else, beside a shard that stays
			// bad for days, each failure of theirs would count on until they are tried once an hour. What is left
			// is the failure of the bad ones, which count by themselves where they have to.
			r.Attempts, r.Streak = min(r.Attempts, 1), min(r.Streak, 1)
		}
		return r, false
	}
	out = FailureRecord{Target: r.Target, Endpoint: r.Endpoint, Suspects: r.Suspects, Split: r.Split, PassBytes: r.PassBytes}
	return out, len(out.Suspects) == 0 && out.PassBytes == 0
}

// Bad reports whether passes leave the shard out for now.
func (r FailureRecord) Bad(s ShardID) bool {
	return slices.ContainsFunc(r.BadShards, func(b BadShard) bool { return b.Shard == s })
}

// Due reports which of the shards of its own endpoint may be tried, by a reader that first saw the record,
// and all its bad shards, `seen` ago.
//
// While the retry is not due, nothing may be tried; a bad shard has a retry of its own as well. So the
// others go on at once after a failure that named its shards, and a failure of the others brings no bad
// shard back early.
func (r FailureRecord) Due(shards []ShardID, seen time.Duration) []ShardID {
	return r.due(r.Endpoint, shards, seen, func(BadShard) time.Duration { return seen })
}

// due are the shards of an endpoint that this record lets run.
func (r FailureRecord) due(e Endpoint, shards []ShardID, seen time.Duration, bad func(BadShard) time.Duration) []ShardID {
	waits := seen < time.Duration(r.Delay)*time.Millisecond
	return slices.DeleteFunc(slices.Clone(shards), func(s ShardID) bool {
		return waits && r.concerns(e, s) || slices.ContainsFunc(r.BadShards, func(b BadShard) bool { return b.Shard == s && bad(b) < b.wait() })
	})
}

// NextDue is the next moment, counted from the first sight of the record, after `seen` at which Due may
// answer more; 0 if there is none.
func (r FailureRecord) NextDue(seen time.Duration) time.Duration {
	return seen + r.untilDue(seen, func(BadShard) time.Duration { return seen })
}

// untilDue is how long it takes until more may be due; less than nothing if that never comes.
func (r FailureRecord) untilDue(seen time.Duration, bad func(BadShard) time.Duration) time.Duration {
	next := -seen
	consider := func(d time.Duration) {
		if d > 0 && (next <= 0 || d < next) {
			next = d
		}
	}
	consider(time.Duration(r.Delay)*time.Millisecond - seen)
	for _, b := range r.BadShards {
		consider(b.wait() - bad(b))
	}
	return next
}

func (b BadShard) wait() time.Duration { return time.Duration(b.Delay) * time.Millisecond }

func addBad(bad []BadShard, b BadShard) []BadShard {
	bad = slices.DeleteFunc(slices.Clone(bad), func(o BadShard) bool { return o.Shard == b.Shard })
	i, _ := slices.BinarySearchFunc(bad, b.Shard, func(o BadShard, s ShardID) int { return strings.Compare(string(o.Shard), string(s)) })
	return slices.Insert(bad, i, b)
}

func truncate(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// Charge records a failure that stopped a target before any execution of it was reserved. It is one of the
// whole table.
func Charge(seen Seen[FailureRecord], f Failure, at WallMillis) Txn {
	f.Shard, f.Generation, f.Other = "", 0, "" // whatever it names, nothing of the table could be reserved
	return Txn{Name: "charge", If: []Cond{seen.Unchanged()}, Then: []Op{Put(seen.Key, Encode(seen.Value.whole().Charged(f, at)))}}
}

// Attend raises attention without counting an attempt: an execution is over, but its table can't be
// handed over yet. It compares that this is still so.
func Attend(e Execution, seen Seen[FailureRecord], f Failure, at WallMillis) Txn {
	r := seen.Value
	r.Code, r.Class, r.LastError, r.Last, r.Attention = f.Code, f.Code.Class(), truncate(f.Detail, MaxErrorLength), at, true
	return Txn{Name: "attend", If: append(owned(e), seen.Unchanged()), Then: []Op{Put(seen.Key, Encode(r))}}
}
