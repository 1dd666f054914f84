package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// Commit is [kv.KV.Commit]: one transaction of etcd. Every error but an invalid transaction leaves it
// unknown, also one that etcd gave, since a request that was sent twice may have been applied once.
func (s *Store) Commit(ctx context.Context, t core.Txn) (kv.Answer, error) {
	if err := kv.Check(t); err != nil {
		return kv.Answer{Outcome: core.NotApplied}, fmt.Errorf("commit %s: %w", t.Name, err)
	}
	client, err := s.connected()
	if errors.Is(err, kv.ErrClosed) {
		return kv.Answer{Outcome: core.NotApplied}, fmt.Errorf("commit %s: %w", t.Name, err)
	}
	if err != nil {
		return kv.Answer{}, fmt.Errorf("commit %s: %w", t.Name, err)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return kv.Answer{}, fmt.Errorf("commit %s: %w", t.Name, err)
	}
	var id clientv3.LeaseID
	for _, o := range t.Then {
		if o.Leased && id == 0 {
			if id, err = s.leased(ctx, client); err != nil {
				return kv.Answer{}, fmt.Errorf("commit %s: %w", t.Name, err)
			}
		}
	}
	before := s.known()
	answer, err := client.Txn(ctx).If(s.compares(t.If)...).Then(s.ops(t.Then, id)...).Commit()
	if err != nil {
		s.lease.lost(err, id)
		return kv.Answer{}, fmt.Errorf("commit %s to etcd: %w", t.Name, err)
	}
	rev := core.Revision(answer.Header.Revision)
	if err := s.saw(rev, before); err != nil {
		return kv.Answer{}, fmt.Errorf("commit %s to etcd: %w", t.Name, err)
	}
	if !answer.Succeeded {
		return kv.Answer{Outcome: core.NotApplied, Revision: rev}, nil
	}
	return kv.Answer{Outcome: core.Applied, Revision: rev}, nil
}

// compares are the conditions as etcd's, one for one. A key that doesn't exist has revision 0, and no value
// that could be equal to one.
func (s *Store) compares(conds []core.Cond) []clientv3.Cmp {
	out := make([]clientv3.Cmp, 0, len(conds))
	if guard.Out(guard.EtcdConditions) {
		return out
	}
	for _, c := range conds {
		key := s.key(c.Key)
		switch c.Op {
		case core.CondHolds:
			out = append(out, clientv3.Compare(clientv3.Value(key), "=", c.Value))
		case core.CondAbsent:
			out = append(out, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		case core.CondUnchanged:
			out = append(out, clientv3.Compare(clientv3.ModRevision(key), "=", int64(c.Rev)))
		case core.CondRangeUnchanged:
			cmp := clientv3.Compare(clientv3.ModRevision(key), "<", int64(c.Rev)+1)
			if c.End != "" {
				cmp = cmp.WithRange(s.rangeEnd(c.End))
			}
			out = append(out, cmp)
		}
	}
	return out
}

func (s *Store) ops(ops []core.Op, id clientv3.LeaseID) []clientv3.Op {
	if len(ops) == 0 {
		// NB: etcd answers a transaction without operations from whatever the member that is asked has seen;
		// a read in it makes that member ask the others first.
		return []clientv3.Op{s.nothing()}
	}
	out := make([]clientv3.Op, 0, len(ops))
	for _, o := range ops {
		key := s.key(o.Key)
		switch {
		case o.Op == core.OpPut && o.Leased:
			out = append(out, clientv3.OpPut(key, o.Value, clientv3.WithLease(id)))
		case o.Op == core.OpPut:
			out = append(out, clientv3.OpPut(key, o.Value))
		default:
			r := kv.Deleted(o)
			var options []clientv3.OpOption
			if r.End != "" {
				options = append(options, clientv3.WithRange(s.rangeEnd(r.End)))
			}
			out = append(out, clientv3.OpDelete(key, options...))
		}
	}
	return out
}
