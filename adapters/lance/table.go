package lance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// maxLooks bounds how often the newest version is looked for again because the one that was found had
// been cleaned up before it was read.
const maxLooks = 4

// ReadTable takes one look at a table: its newest base manifest, and then the newest manifest of every
// shard. Shards are read after the base, so the marks may be older than the SSTables, never newer.
//
// Failures: [core.CodeTableMissing], [core.CodeTableFormat], [core.CodeManifestCorrupt],
// [core.CodeStorage], [core.CodeAuth].
func ReadTable(ctx context.Context, l lake.Lake, t core.Target) (core.Table, error) {
	base, err := ReadNewestBase(ctx, l, t)
	if err != nil {
		return core.Table{}, err
	}
	ids, err := Shards(ctx, l, t)
	if err != nil {
		return core.Table{}, err
	}
	table := core.Table{Target: t, Base: base.Facts}
	for _, id := range ids {
		shard, err := ReadNewestShard(ctx, l, t, id)
		if errors.Is(err, lake.ErrNotExist) {
			continue // a folder whose writer has published nothing yet
		}
		var f core.Failure
		if errors.As(err, &f) && f.Code != core.CodeStorage && f.Code != core.CodeAuth {
			table.Shards = append(table.Shards, core.ShardManifest{Shard: id, Torn: f.Detail}) // it stops itself alone
			continue
		}
		if err != nil {
			return core.Table{}, err
		}
		table.Shards = append(table.Shards, shard.Facts)
	}
	return table, nil
}

// Shards lists the ids of the table's shards, sorted, whether or not they have a manifest.
func Shards(ctx context.Context, l lake.Lake, t core.Target) ([]core.ShardID, error) {
	level, err := l.Children(ctx, ShardsFolder(t))
	if err != nil {
		return nil, storage(fmt.Sprintf("list the shards of %s", t), err)
	}
	var out []core.ShardID
	for _, name := range level.Folders {
		if isShardID(name) {
			out = append(out, core.ShardID(name))
		}
	}
	slices.Sort(out)
	return out, nil
}

// ReadNewestBase reads the newest base manifest, with its transaction (see [BaseFile.Resolve]).
func ReadNewestBase(ctx context.Context, l lake.Lake, t core.Target) (BaseFile, error) {
	for looks := 1; ; looks++ {
		v, scheme, err := LatestBase(ctx, l, t)
		if err != nil {
			return BaseFile{}, err
		}
		b, err := ReadBase(ctx, l, t, scheme, v)
		if err != nil && errors.Is(err, lake.ErrNotExist) && looks < maxLooks {
			continue
		}
		return b, err
	}
}

// ReadBase reads one version, with its transaction. The failure for a version that isn't there is
// [core.CodeStorage] around [lake.ErrNotExist].
func ReadBase(ctx context.Context, l lake.Lake, t core.Target, scheme core.NamingScheme, v core.Version) (BaseFile, error) {
	key := BaseKey(t, scheme, v)
	body, err := l.Get(ctx, key)
	if err != nil {
		return BaseFile{}, storage(fmt.Sprintf("read version %d of %s", v, t), err)
	}
	b, err := ParseBase(key, body)
	if err != nil {
		return BaseFile{}, err
	}
	// A file whose name says more than its body becomes the head and hides later commits.
	if b.Facts.Version != v && !guard.Out(guard.BodyNamesItsVersion) {
		return BaseFile{}, corrupt(key, fmt.Sprintf("its name says version %d, its body %d", v, b.Facts.Version))
	}
	return b.Resolve(ctx, l, t)
}

// Resolve fills in read version and operation from the `_transactions/` file that the manifest names, if
// it has no inline transaction. If that file is gone they stay empty, which no rule takes for an operation.
func (b BaseFile) Resolve(ctx context.Context, l lake.Lake, t core.Target) (BaseFile, error) {
	name := b.TransactionFile
	if b.Facts.Operation != "" || name == "" || strings.Contains(name, "/") {
		return b, nil
	}
	key := t.Path() + "/_transactions/" + name
	body, err := l.Get(ctx, key)
	if errors.Is(err, lake.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return BaseFile{}, storage(fmt.Sprintf("read the transaction of version %d of %s", b.Facts.Version, t), err)
	}
	tx, err := ParseTransaction(key, body)
	if err != nil {
		return BaseFile{}, err
	}
	b.Facts.ReadVersion, b.Facts.Operation = tx.ReadVersion, tx.Operation
	return b, nil
}

// ReadNewestShard reads the newest manifest of a shard. The failure for a shard without one is
// [core.CodeStorage] around [lake.ErrNotExist]. Failures name the shard.
func ReadNewestShard(ctx context.Context, l lake.Lake, t core.Target, s core.ShardID) (ShardFile, error) {
	f, err := readNewestShard(ctx, l, t, s)
	return f, ofShard(s, err)
}

func readNewestShard(ctx context.Context, l lake.Lake, t core.Target, s core.ShardID) (ShardFile, error) {
	doing := fmt.Sprintf("read the newest manifest of shard %s of %s", s, t)
	for looks := 1; ; looks++ {
		v, err := LatestShard(ctx, l, t, s)
		if err != nil {
			return ShardFile{}, err
		}
		if v == 0 {
			return ShardFile{}, storage(doing, lake.ErrNotExist)
		}
		key := ShardKey(t, s, v)
		body, err := l.Get(ctx, key)
		if errors.Is(err, lake.ErrNotExist) && looks < maxLooks {
			continue
		}
		if err != nil {
			return ShardFile{}, storage(doing, err)
		}
		f, err := ParseShard(key, body)
		switch {
		case err != nil:
			return ShardFile{}, err
		case f.Facts.Version != v && !guard.Out(guard.BodyNamesItsVersion):
			return ShardFile{}, corrupt(key, fmt.Sprintf("its name says version %d, its body %d", v, f.Facts.Version))
		case f.Facts.Shard != s:
			return ShardFile{}, corrupt(key, fmt.Sprintf("its folder says shard %s, its body %s", s, f.Facts.Shard))
		}
		return f, nil
	}
}
