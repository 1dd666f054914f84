package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// slow is how long a read of the KV may take before it is worth mentioning: an admission takes one round.
const slow = 100 * time.Millisecond

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
			return failed(check, "this KV does not keep its conditions: use etcd 3.4 or newer",
				fmt.Errorf("a transaction was %v, expected %v", answer.Outcome, want))
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
			return failed(check, "this KV's reads are not linearizable: use etcd itself, without a cache",
				errors.New("what was just written is not read"))
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
		return warning(check, "if tables were deleted or restored, see sluice adopt",
			"the KV knows this lake, which doesn't know the KV: the next process claims it again")
	case err != nil:
		return failed(check, "see that this process may read from the lake", err)
	case owner != id:
		return failed(check, "use the KV that the lake belongs to", &lake.OtherKVError{Where: lake.ClaimKey, KV: owner, Ours: id})
	}
	return passed(check, "they belong together")
}

// oneLine keeps an error to one line, also one that is several.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Split(err.Error(), "\n"), "; "))
}
