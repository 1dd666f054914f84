package lance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// AdoptRequest says under which id a table is adopted.
type AdoptRequest struct {
	Target core.Target
	// TableID is the new id; it replaces one that is there (clones and copies carry that of their
	// origin).
	TableID core.TableID
	// UUID names the transaction of the commit.
	UUID string
	Now  core.WallMillis
}

// maxAdoptTries bounds how often adoption tries again because somebody else's commit came first.
const maxAdoptTries = 16

// Adopt makes the table ours: one metadata commit writes the id, one fence occupies the next version of
// each shard. Each takes the next number of its resource, so whatever an unknown past had in flight is
// dead. It returns the table as it stands afterwards.
//
// To be repeated after any error: if the id is there already only the shards are fenced again, which is
// harmless. Nothing is written to a table with unknown writer flags ([core.CodeTableFormat]).
func Adopt(ctx context.Context, l lake.Lake, r AdoptRequest) (core.Table, error) {
	if err := adoptBase(ctx, l, r); err != nil {
		return core.Table{}, err
	}
	ids, err := Shards(ctx, l, r.Target)
	if err != nil {
		return core.Table{}, err
	}
	for _, id := range ids {
		shard, err := ReadNewestShard(ctx, l, r.Target, id)
		if errors.Is(err, lake.ErrNotExist) {
			continue // it has no manifest, so nobody can have published a successor of one
		}
		if err != nil {
			return core.Table{}, err
		}
		// If another commit takes the number instead, that one is as good as a fence.
		if _, err := publishShard(ctx, l, r.Target, shard); err != nil {
			return core.Table{}, err
		}
	}
	return ReadTable(ctx, l, r.Target)
}

func adoptBase(ctx context.Context, l lake.Lake, r AdoptRequest) error {
	for range maxAdoptTries {
		base, err := ReadNewestBase(ctx, l, r.Target)
		if err != nil {
			return err
		}
		if base.Facts.TableID == r.TableID {
			return nil
		}
		landed, err := publishBase(ctx, l, r.Target, base, Entry{core.TableIDKey, string(r.TableID)}, r.UUID, r.Now)
		if landed || err != nil {
			return err
		}
	}
	return failed(core.CodeCommitConflict, fmt.Sprintf("adopt %s: other commits came first %d times", r.Target, maxAdoptTries))
}
