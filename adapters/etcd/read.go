package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// Read is [kv.KV.Read]: all ranges in one read-only transaction, which is linearizable and of one revision.
func (s *Store) Read(ctx context.Context, ranges ...core.Range) (kv.Snapshot, error) {
	for _, r := range ranges {
		if err := kv.CheckRange(r); err != nil {
			return kv.Snapshot{}, fmt.Errorf("read etcd: %w", err)
		}
	}
	client, err := s.connected()
	if err != nil {
		return kv.Snapshot{}, fmt.Errorf("read etcd: %w", err)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return kv.Snapshot{}, fmt.Errorf("read etcd: %w", err)
	}
	gets := make([]clientv3.Op, 0, len(ranges))
	for _, r := range ranges {
		gets = append(gets, s.get(r))
	}
	if len(gets) == 0 { // only the revision is wanted
		gets = append(gets, s.nothing())
	}
	before := s.known()
	answer, err := client.Txn(ctx).Then(gets...).Commit()
	if err != nil {
		return kv.Snapshot{}, fmt.Errorf("read etcd: %w", err)
	}
	snapshot := kv.Snapshot{Revision: core.Revision(answer.Header.Revision)}
	if err := s.saw(snapshot.Revision, before); err != nil {
		return kv.Snapshot{}, fmt.Errorf("read etcd: %w", err)
	}
	for _, r := range answer.Responses {
		for _, pair := range r.GetResponseRange().GetKvs() {
			snapshot.Records = append(snapshot.Records, s.record(pair))
		}
	}
	slices.SortFunc(snapshot.Records, byKey)
	snapshot.Records = slices.CompactFunc(snapshot.Records, func(a, b core.Record) bool { return a.Key == b.Key })
	return snapshot, nil
}

func (s *Store) get(r core.Range) clientv3.Op {
	if r.End == "" {
		return clientv3.OpGet(s.key(r.Key))
	}
	return clientv3.OpGet(s.key(r.Key), clientv3.WithRange(s.rangeEnd(r.End)))
}

// nothing is a read of a key that there never is.
func (s *Store) nothing() clientv3.Op { return clientv3.OpGet(s.key("\x00"), clientv3.WithCountOnly()) }

func (s *Store) record(pair *mvccpb.KeyValue) core.Record {
	return core.Record{Key: string(pair.Key)[len(s.cfg.Prefix):], Value: string(pair.Value), Mod: core.Revision(pair.ModRevision)}
}

func byKey(a, b core.Record) int { return cmp.Compare(a.Key, b.Key) }
