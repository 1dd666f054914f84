package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/lake"
)

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
			out = append(out, failed(check, "see etcdctl alarm list; compact, defragment and disarm",
				fmt.Errorf("%s raises %s", m.Endpoint, strings.Join(m.Alarms, ", "))))
		}
		if m.Quota > 0 && m.Used > m.Quota*8/10 {
			out = append(out, warning(check, "compact and defragment, or raise --quota-backend-bytes",
				"%s has used %d of %d bytes", m.Endpoint, m.Used, m.Quota))
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
		out = append(out, warning(check, "start the others, or leave them out of --kv",
			"%d of %d endpoints answer: %v", len(answering), len(all), oneLine(down)))
	case len(out) == 0:
		out = append(out, passed(check, "%d of %d endpoints answer, version %s", len(answering), len(all), strings.Join(versions, ", ")))
	}
	return out, true
}
