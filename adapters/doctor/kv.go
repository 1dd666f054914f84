package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// slow is how long a read of the KV may take before it is worth mentioning: an admission takes one round.
const slow = 100 * time.Millisecond

// Etcd tries out a fleet's KV. l is the lake that it is for, nil if that can't be opened. Where no endpoint
// answers, nothing more is asked: each request would wait for its whole time.
func Etcd(store *etcd.Store, l lake.Lake) Check {
	return func(ctx context.Context) []Finding {
		found, answers := members(ctx, store)
		if !answers {
			return found
		}
		return append(found, transacts(ctx, store), belongs(ctx, store, l))
	}
}

// members asks each endpoint by itself: one that is down is not missed while the others answer.
func members(ctx context.Context, store *etcd.Store) (out []Finding, answers bool) {
	const check, clock = "etcd", "etcd-clock"
	all, err := store.Members(ctx)
	if err != nil {
		return []Finding{failed(check, "check --kv, --etcd-user and the certificates", err)}, false
	}
	var answering []string
	var down error
	for _, m := range all {
		if m.Err != nil {
			down = errors.Join(down, m.Err)
			continue
		}
		answering = append(answering, m.Version)
		if len(m.Alarms) > 0 {
			out = append(out, failed(check, "see etcdctl alarm list; compact, defragment and disarm", fmt.Errorf("%s raises %s", m.Endpoint, strings.Join(m.Alarms, ", "))))
		}
		if m.Quota > 0 && m.Used > m.Quota*8/10 {
			out = append(out, warning(check, "compact and defragment, or raise --quota-backend-bytes", "%s has used %d of %d bytes", m.Endpoint, m.Used, m.Quota))
		}
		if !m.Clock.IsZero() {
			if f := compare(clock, "the clock of "+m.Endpoint, m.Clock, m.Asked.Add(-time.Second), m.Asked, time.Second); f.Verdict != OK {
				out = append(out, f)
			}
		}
	}
	slices.Sort(answering)
	switch versions := slices.Compact(slices.Clone(answering)); {
	case len(answering) == 0:
		return []Finding{failed(check, "start etcd, or correct --kv and its certificates", oneLine(down))}, false
	case down != nil:
		out = append(out, warning(check, "start the others, or leave them out of --kv", "%d of %d endpoints answer: %v", len(answering), len(all), oneLine(down)))
	case len(out) == 0:
		out = append(out, passed(check, "%d of %d endpoints answer, version %s", len(answering), len(all), strings.Join(versions, ", ")))
	}
	return out, true
}

// transacts makes a key under the prefix, sees a second one fail, and removes it again.
func transacts(ctx context.Context, store kv.KV) Finding {
	const check, hint = "kv", "see that the KV has a majority, and that its user may read and write under the prefix"
	// NB: not a folder of its own: a key with a slash would be taken for a table's.
	key := core.Root + "doctor-" + rand.Text()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		_, _ = store.Commit(ctx, core.Txn{Name: "doctor", Then: []core.Op{core.Delete(key)}}) // no process reads it
	}()
	first := core.Txn{Name: "doctor", If: []core.Cond{core.Absent(key)}, Then: []core.Op{core.Put(key, "here")}}
	for _, want := range []core.Outcome{core.Applied, core.NotApplied} {
		answer, err := store.Commit(ctx, first)
		if err != nil {
			return failed(check, hint, err)
		}
		if answer.Outcome != want {
			return failed(check, "this KV does not keep its conditions: use etcd 3.4 or newer", fmt.Errorf("a transaction was %v, expected %v", answer.Outcome, want))
		}
	}
	var took []time.Duration
	for range rounds {
		begun := time.Now()
		s, err := store.Read(ctx, core.Range{Key: key})
		if err != nil {
			return failed(check, hint, err)
		}
		if len(s.Records) != 1 {
			return failed(check, "this KV's reads are not linearizable: use etcd itself, without a cache", errors.New("what was just written is not read"))
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	median := took[rounds/2]
	if median > slow {
		return warning(check, "bring etcd nearer, or give it a faster disk", "a read takes %v", median.Round(time.Millisecond))
	}
	return passed(check, "transactions keep their conditions; a read takes %v", median.Round(time.Microsecond))
}

// belongs looks whether KV and lake know each other. Neither is changed: it is the first process that claims.
func belongs(ctx context.Context, store kv.KV, l lake.Lake) Finding {
	const check = "kv-of-lake"
	if l == nil {
		return warning(check, "give a lake that can be opened", "not looked at")
	}
	record, known, err := kv.Identity(ctx, store, l.URI())
	if err != nil {
		return failed(check, "a lake has one KV, and a KV one lake: give this one a prefix of its own (--etcd-prefix)", err)
	}
	return claimed(ctx, l, record.ID, known)
}

// claimed compares the lake's claim with the id of its KV.
func claimed(ctx context.Context, l lake.Lake, id string, known bool) Finding {
	const check = "kv-of-lake"
	owner, err := lake.ClaimedBy(ctx, l)
	switch {
	case errors.Is(err, lake.ErrNotExist) && !known:
		return passed(check, "lake and KV are new: the first process joins them")
	case errors.Is(err, lake.ErrNotExist):
		return warning(check, "if tables were deleted or restored, see sluice adopt", "the KV knows this lake, which doesn't know the KV: the next process claims it again")
	case err != nil:
		return failed(check, "see that this process may read from the lake", err)
	case owner != id:
		return failed(check, "use the KV that the lake belongs to", &lake.OtherKVError{Where: lake.ClaimKey, KV: owner, Ours: id})
	}
	return passed(check, "they belong together")
}

// Bolt tries out the KV file of one process. The file itself is only read; a file beside it is written.
func Bolt(path string, l lake.Lake) []Check {
	return []Check{
		one(func(ctx context.Context) Finding { return besideFile(ctx, path) }),
		one(func(ctx context.Context) Finding { return fileBelongs(ctx, path, l) }),
	}
}

// besideFile makes a KV where the file is or is going to be.
func besideFile(ctx context.Context, path string) Finding {
	const check, hint = "kv", "see that this process may write there, and that the disk is not full"
	at := filepath.Dir(path)
	if _, err := os.Stat(at); errors.Is(err, os.ErrNotExist) {
		at = filepath.Dir(at) // where the first process makes its folder
	}
	folder, err := os.MkdirTemp(at, ".sluice-doctor-")
	if err != nil {
		return failed(check, hint, err)
	}
	defer os.RemoveAll(folder)
	store, err := bolt.Open(ctx, filepath.Join(folder, "state.db"))
	if err != nil {
		return failed(check, hint, err)
	}
	f := transacts(ctx, store)
	if err := store.Close(); err != nil && f.Verdict == OK {
		return failed(check, hint, err)
	}
	return f
}

// fileBelongs looks into the file, if there is one.
func fileBelongs(ctx context.Context, path string, l lake.Lake) Finding {
	const check = "kv-of-lake"
	if l == nil {
		return warning(check, "give a lake that can be opened", "not looked at")
	}
	value, known, err := bolt.Peek(ctx, path, core.KVKey())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return withoutFile(ctx, path, l)
	case errors.Is(err, bolt.ErrInUse):
		return warning(check, "stop that process to have it looked at", "a sluice process serves this lake with %s", path)
	case err != nil:
		return failed(check, "put the file back from a copy, or move it away and run sluice adopt for each table", err)
	case !known:
		return claimed(ctx, l, "", false)
	}
	record, err := core.Decode[core.KVRecord](core.KVKey(), value)
	if err == nil && record.Lake != l.URI() {
		err = fmt.Errorf("%s serves the lake %s, not %s", path, record.Lake, l.URI())
	}
	if err != nil {
		return failed(check, "a lake has one KV, and a KV one lake: was one of them moved or copied?", err)
	}
	return claimed(ctx, l, record.ID, true)
}

// withoutFile is fine for a lake that nobody has used.
func withoutFile(ctx context.Context, path string, l lake.Lake) Finding {
	f := claimed(ctx, l, "", false)
	if owner, err := lake.ClaimedBy(ctx, l); err == nil {
		return failed(f.Check, "if that is an etcd, name it by --kv; if it was this file, put it back from a copy", fmt.Errorf("the lake belongs to the KV %s, and there is no %s", owner, path))
	}
	return f
}

// oneLine keeps an error to one line, also one that is several.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Split(err.Error(), "\n"), "; "))
}
