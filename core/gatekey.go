package core

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/guard"
)

// Key is what a key of the lake is to the protocol, judged by its whole path: see [Classify].
type Key struct {
	Kind KeyKind
	// Target is the table that the key lies in; empty outside of tables.
	Target Target
	// Shard is set below _mem_wal/<shard>/.
	Shard ShardID
	// Manifest is set for [KeyBaseManifest].
	Manifest ManifestName
}

// KeyKind says which part of a lake a key belongs to.
type KeyKind string

// The kinds of keys.
const (
	KeyMalformed       KeyKind = "malformed"        // not canonical, or something else once it is decoded again
	KeySluice          KeyKind = "sluice"           // under _sluice/: ours, seen by no client
	KeyOutside         KeyKind = "outside"          // in no table
	KeyBaseManifest    KeyKind = "base-manifest"    // _versions/<version>.manifest
	KeyVersionsOther   KeyKind = "versions-other"   // detached versions and hints
	KeyTransaction     KeyKind = "transaction"      // _transactions/<read version>-<uuid>.txn
	KeyData            KeyKind = "data"             // data/, _deletions/, _indices/: files that never change
	KeyRefs            KeyKind = "refs"             // _refs/ and tree/: tags and branches
	KeyShardManifest   KeyKind = "shard-manifest"   // _mem_wal/<shard>/manifest/<version>.binpb
	KeyShardHint       KeyKind = "shard-hint"       // _mem_wal/<shard>/manifest/version_hint.json
	KeyWAL             KeyKind = "wal"              // _mem_wal/<shard>/wal/
	KeySSTableManifest KeyKind = "sstable-manifest" // _mem_wal/<shard>/<sstable>/_versions/<version>.manifest
	KeySSTable         KeyKind = "sstable"          // the rest below _mem_wal/<shard>/
	KeyTableOther      KeyKind = "table-other"      // anything else in a table
)

// Publishes reports whether a key of this kind is a version: it exists once, and others look for it.
func (k KeyKind) Publishes() bool {
	return k == KeyBaseManifest || k == KeyShardManifest || k == KeySSTableManifest
}

// Classify says what a key is. The key is given as the lake takes it, after the decoding of the S3
// protocol. Some layer below may decode once more: a key that would be of another kind then is malformed
// (attack encoded-key).
func Classify(key string) Key {
	k := classify(key)
	for plain := key; !guard.Out(guard.EncodedKey); {
		next, err := url.PathUnescape(plain)
		if err != nil || next == plain {
			break
		}
		plain = next
		if classify(plain).Kind != k.Kind {
			return Key{Kind: KeyMalformed}
		}
	}
	return k
}

func classify(key string) Key {
	segments := strings.Split(key, "/")
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || strings.IndexByte(s, 0) >= 0 {
			return Key{Kind: KeyMalformed}
		}
		// On a file system that ignores case they would be the same folder.
		for _, reserved := range []string{"_sluice", "_versions", "_mem_wal"} {
			if s != reserved && strings.EqualFold(s, reserved) {
				return Key{Kind: KeyMalformed}
			}
		}
	}
	if segments[0] == "_sluice" {
		return Key{Kind: KeySluice}
	}
	for i, s := range segments {
		name, ok := strings.CutSuffix(s, ".lance")
		if !ok || i == len(segments)-1 {
			continue
		}
		t, err := ParseTarget(strings.Join(append(segments[:i:i], name), "/"))
		if err != nil {
			return Key{Kind: KeyMalformed}
		}
		return classifyInTable(t, segments[i+1:])
	}
	return Key{Kind: KeyOutside}
}

func classifyInTable(t Target, path []string) Key {
	k := Key{Kind: KeyTableOther, Target: t}
	if len(path) < 2 {
		return k
	}
	switch path[0] {
	case "_versions":
		return classifyVersion(k, path[1:])
	case "_transactions":
		if len(path) == 2 && strings.HasSuffix(path[1], ".txn") {
			k.Kind = KeyTransaction
		}
	case "data", "_deletions", "_indices":
		k.Kind = KeyData
	case "_refs", "tree":
		k.Kind = KeyRefs
	case "_mem_wal":
		if len(path) >= 3 {
			k.Shard = ShardID(path[1])
			k.Kind = classifyInShard(path[2:])
		}
	}
	return k
}

func classifyVersion(k Key, path []string) Key {
	// NB: Lance takes a name for a manifest by how it ends, without the dot.
	last := path[len(path)-1]
	if !strings.HasSuffix(last, "manifest") || len(path) == 1 && isDetached(last) {
		k.Kind = KeyVersionsOther
		return k
	}
	if len(path) > 1 {
		// It lists _versions/ at any depth and looks at the last part of each name alone: this would be a version
		// for every reader, past all rules.
		return Key{Kind: KeyMalformed}
	}
	name, ok := ParseManifestName(path[0])
	if !ok {
		// Lance may read it as a number that we don't, for example "007.manifest" or "+7.manifest".
		return Key{Kind: KeyMalformed}
	}
	k.Kind, k.Manifest = KeyBaseManifest, name
	return k
}

// isDetached: detached versions are named "d" and a number; they are no part of the table's history.
func isDetached(file string) bool {
	digits, ok := strings.CutSuffix(strings.TrimPrefix(file, "d"), ".manifest")
	return ok && file[0] == 'd' && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func classifyInShard(path []string) KeyKind {
	switch {
	case len(path) == 2 && path[0] == "manifest" && strings.HasSuffix(path[1], ".binpb"):
		return KeyShardManifest
	case len(path) == 2 && path[0] == "manifest" && path[1] == "version_hint.json":
		return KeyShardHint
	case len(path) == 2 && path[0] == "wal":
		return KeyWAL
	case len(path) >= 3 && path[1] == "_versions" && strings.HasSuffix(path[len(path)-1], ".manifest"):
		return KeySSTableManifest
	}
	return KeySSTable
}

// v2Digits is the length of a V2 name's number: that of 2^64-1.
const v2Digits = 20

// ParseManifestName reads the file name of a base manifest. Only the one canonical name of a version is
// one: no sign, and no leading zeros in scheme V1.
func ParseManifestName(file string) (ManifestName, bool) {
	stem, ok := strings.CutSuffix(file, ".manifest")
	if !ok || stem == "" || strings.Trim(stem, "0123456789") != "" {
		return ManifestName{}, false
	}
	n, err := strconv.ParseUint(stem, 10, 64)
	switch {
	case err != nil:
		return ManifestName{}, false
	case len(stem) == v2Digits:
		return ManifestName{Version: Version(^n), Scheme: V2}, true
	case strconv.FormatUint(n, 10) != stem:
		return ManifestName{}, false
	}
	return ManifestName{Version: Version(n), Scheme: V1}, true
}
