package lance

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// FenceRequest says which admitted version is to be occupied.
type FenceRequest struct {
	Target   core.Target
	Resource core.ResourceID
	// Version is the number to occupy: the latest one + 1.
	Version core.Version
	// TableID and Scheme are those that the table must have. Another one is another table.
	TableID core.TableID
	Scheme  core.NamingScheme
	// Adopt makes it an adoption: of the base, TableID is written into the metadata, over an id that is
	// there too (clones and copies carry that of their origin). Shards follow once the base has it.
	Adopt bool
	// Seen is the newest version of the resource that the caller knows of (for the base: at least the
	// one at Start). The lake may not stand below it. 0 if it knows none.
	Seen core.Version
	// Execution is the fenced one; it is written into the table's metadata. Empty for an adoption.
	Execution core.ExecutionID
	// UUID names the fence's transaction; a new one for each call.
	UUID string
	Now  core.WallMillis
}

// Fence occupies one admitted version with a commit that changes nothing, so that a late commit of that
// version must fail (invariant 2). landed says that this call occupied it; false and no error that
// somebody else has, which serves as well. An error leaves it unknown whether the fence is there: the
// caller looks again.
//
// It reads the newest manifest again right before it publishes, and refuses with
//
//	E_TABLE_REPLACED  another table id than the execution's, or none
//	E_LAKE_WENT_BACK  the newest version is below the one the caller has seen
//	E_TABLE_FORMAT    another naming scheme, or unknown writer flags
//
// A late fence of a process that was paused is harmless: its number is occupied by then, or it is still
// admitted and unpublished, and then it has to be fenced anyway.
func Fence(ctx context.Context, l lake.Lake, r FenceRequest) (landed bool, err error) {
	base, err := ReadNewestBase(ctx, l, r.Target)
	if err != nil {
		return false, err
	}
	if err := sameTable(base.Facts, r); err != nil {
		return false, err
	}
	entry := Entry{core.FenceKey, string(r.Execution)}
	if r.Adopt {
		entry = Entry{core.TableIDKey, string(r.TableID)}
	}
	if id, ok := r.Resource.Shard(); ok {
		return fenceShard(ctx, l, r, id)
	}
	if occupied, err := next(r, base.Facts.Version); occupied || err != nil {
		return false, err
	}
	return publishBase(ctx, l, r.Target, base, entry, r.UUID, r.Now)
}

// sameTable checks that the table is the one that the execution had: id and naming scheme.
func sameTable(base core.BaseManifest, r FenceRequest) error {
	if adopting := r.Adopt && r.Resource == core.Base; base.TableID != r.TableID && !adopting && !guard.Out(guard.FenceTableID) {
		return failed(core.CodeTableReplaced, fmt.Sprintf("%s has table id %q, expected %q", r.Target, base.TableID, r.TableID))
	}
	if base.Scheme != r.Scheme {
		return failed(core.CodeTableFormat, fmt.Sprintf("%s names its manifests in scheme %s, expected %s", r.Target, base.Scheme, r.Scheme))
	}
	return nil
}

// next decides by the latest version whether there is something to occupy.
func next(r FenceRequest, latest core.Version) (occupied bool, err error) {
	switch {
	case latest < r.Seen && !guard.Out(guard.FenceDirection):
		return false, failed(core.CodeLakeWentBack, fmt.Sprintf("%s of %s stands at version %d, %d was seen before", r.Resource, r.Target, latest, r.Seen))
	case latest >= r.Version:
		return true, nil
	case latest+1 != r.Version:
		// A number above the next one can't be taken: it would hide those in between.
		return false, fmt.Errorf("fence version %d of %s of %s: the latest is %d", r.Version, r.Resource, r.Target, latest)
	}
	return false, nil
}

func fenceShard(ctx context.Context, l lake.Lake, r FenceRequest, id core.ShardID) (bool, error) {
	shard, err := ReadNewestShard(ctx, l, r.Target, id)
	if errors.Is(err, lake.ErrNotExist) {
		return false, failed(core.CodeLakeWentBack, fmt.Sprintf("shard %s of %s has no manifest; version %d was admitted", id, r.Target, r.Version))
	}
	if err != nil {
		return false, err
	}
	if occupied, err := next(r, shard.Facts.Version); occupied || err != nil {
		return false, err
	}
	return publishShard(ctx, l, r.Target, shard)
}

// publishBase publishes the successor of a base manifest, if its number is still free.
func publishBase(ctx context.Context, l lake.Lake, t core.Target, prev BaseFile, e Entry, uuid string, now core.WallMillis) (bool, error) {
	body, err := prev.Successor(e, uuid, now)
	if err != nil {
		return false, err
	}
	key := BaseKey(t, prev.Facts.Scheme, prev.Facts.Version+1)
	built, err := ParseBase(key, body)
	if err != nil {
		return false, err
	}
	if err := SameContent(prev, built); err != nil {
		return false, fmt.Errorf("fence version %d of %s: not a fence: %w", built.Facts.Version, t, err)
	}
	return publish(ctx, l, key, body)
}

// publishShard publishes the successor of a shard manifest, if its number is still free.
func publishShard(ctx context.Context, l lake.Lake, t core.Target, prev ShardFile) (bool, error) {
	body := prev.Successor()
	key := ShardKey(t, prev.Facts.Shard, prev.Facts.Version+1)
	built, err := ParseShard(key, body)
	if err != nil {
		return false, err
	}
	if err := SameShardContent(prev, built); err != nil {
		return false, fmt.Errorf("fence version %d of shard %s of %s: not a fence: %w", built.Facts.Version, prev.Facts.Shard, t, err)
	}
	return publish(ctx, l, key, body)
}

func publish(ctx context.Context, l lake.Lake, key string, body []byte) (bool, error) {
	err := l.PutIfAbsent(ctx, key, bytes.NewReader(body))
	if errors.Is(err, lake.ErrExists) {
		return false, nil
	}
	if err != nil {
		return false, storage("publish a fence", err)
	}
	return true, nil
}
