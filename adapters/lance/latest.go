package lance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// LatestBase returns the newest version of a table and how the table names its manifests, from one listing
// of names. Failures: [core.CodeTableMissing] if there is no manifest at all, [core.CodeTableFormat] if
// the names are not all of one scheme, [core.CodeStorage] or [core.CodeAuth] if the listing failed.
func LatestBase(ctx context.Context, l lake.Lake, t core.Target) (core.Version, core.NamingScheme, error) {
	level, err := l.Children(ctx, VersionsFolder(t))
	if err != nil && !guard.Out(guard.IOErrorIsNotAbsent) {
		return 0, "", storage(fmt.Sprintf("look for the newest version of %s", t), err)
	}
	var newest core.Version
	var scheme core.NamingScheme
	for _, name := range level.Objects {
		if detached(name) || !manifestLike(name) {
			continue
		}
		s, v, ok := ParseBaseName(name)
		switch {
		case !ok:
			return 0, "", failed(core.CodeTableFormat, fmt.Sprintf("%s%s is not a name that Lance gives a manifest", VersionsFolder(t), name))
		case scheme != "" && s != scheme && !guard.Out(guard.MixedSchemes):
			return 0, "", failed(core.CodeTableFormat, fmt.Sprintf("%s has manifests of both naming schemes, for example %s", VersionsFolder(t), name))
		}
		scheme, newest = s, max(newest, v)
	}
	if guard.Out(guard.HintIsNotTruth) {
		if v, ok := hinted(ctx, l, VersionsFolder(t)+"latest_version_hint.json"); ok {
			newest = v
		}
	}
	if newest == 0 {
		return 0, "", failed(core.CodeTableMissing, fmt.Sprintf("%s has no version; there is no Lance table at that path", t.Path()))
	}
	return newest, scheme, nil
}

// LatestShard returns the newest version of a shard's manifest, 0 if it has none. A listing that failed is
// an error, never 0.
func LatestShard(ctx context.Context, l lake.Lake, t core.Target, s core.ShardID) (core.Version, error) {
	folder := ShardManifestsFolder(t, s)
	level, err := l.Children(ctx, folder)
	if err != nil && !guard.Out(guard.IOErrorIsNotAbsent) {
		return 0, storage(fmt.Sprintf("look for the newest manifest of shard %s of %s", s, t), err)
	}
	var newest core.Version
	for _, name := range level.Objects {
		if v, ok := ParseShardName(name); ok {
			newest = max(newest, v)
		}
	}
	if guard.Out(guard.HintIsNotTruth) {
		if v, ok := hinted(ctx, l, folder+"version_hint.json"); ok {
			newest = v
		}
	}
	return newest, nil
}

// manifestLike reports whether Lance would look at the name at all. NB: it goes by the end of the name,
// without the dot.
func manifestLike(name string) bool {
	return len(name) >= len("manifest") && name[len(name)-len("manifest"):] == "manifest"
}

// hinted is what a build without the rule [guard.HintIsNotTruth] believes.
func hinted(ctx context.Context, l lake.Lake, key string) (core.Version, bool) {
	body, err := l.Get(ctx, key)
	var hint struct{ Version core.Version }
	ok := err == nil && json.Unmarshal(body, &hint) == nil
	return hint.Version, ok
}
