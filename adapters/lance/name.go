package lance

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/core"
)

const (
	baseSuffix  = ".manifest"
	shardSuffix = ".binpb"
)

// VersionsFolder is the folder of a table's base manifests, with its final slash.
func VersionsFolder(t core.Target) string { return t.Path() + "/_versions/" }

// ShardsFolder is the folder of a table's shards.
func ShardsFolder(t core.Target) string { return t.Path() + "/_mem_wal/" }

// ShardManifestsFolder is the folder of one shard's manifests.
func ShardManifestsFolder(t core.Target, s core.ShardID) string {
	return ShardsFolder(t) + string(s) + "/manifest/"
}

// BaseKey is the key of a base manifest.
func BaseKey(t core.Target, scheme core.NamingScheme, v core.Version) string {
	return VersionsFolder(t) + BaseName(scheme, v)
}

// ShardKey is the key of a shard manifest.
func ShardKey(t core.Target, s core.ShardID, v core.Version) string {
	return ShardManifestsFolder(t, s) + ShardName(v)
}

// BaseName is the file name of a base manifest. In the newer scheme the names of newer versions sort
// first.
func BaseName(scheme core.NamingScheme, v core.Version) string {
	if scheme == core.V1 {
		return strconv.FormatUint(uint64(v), 10) + baseSuffix
	}
	return fmt.Sprintf("%020d%s", math.MaxUint64-uint64(v), baseSuffix)
}

// ParseBaseName is the inverse of [BaseName]. Names that end like a manifest but that BaseName never gives
// are not ok: Lance would read some of them as a version all the same.
func ParseBaseName(name string) (scheme core.NamingScheme, v core.Version, ok bool) {
	n, ok := core.ParseManifestName(name)
	return n.Scheme, n.Version, ok && n.Version > 0
}

// detached reports whether the name is that of a detached version, which is never the newest of a table.
func detached(name string) bool { return strings.HasPrefix(name, "d") }

// ShardName is the file name of a shard manifest: the version's bits, lowest first.
func ShardName(v core.Version) string {
	return fmt.Sprintf("%064b%s", bits.Reverse64(uint64(v)), shardSuffix)
}

// ParseShardName is the inverse of [ShardName].
func ParseShardName(name string) (v core.Version, ok bool) {
	digits, found := strings.CutSuffix(name, shardSuffix)
	if !found || len(digits) != 64 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 2, 64)
	if err != nil || n == 0 {
		return 0, false
	}
	return core.Version(bits.Reverse64(n)), true
}

// shardIDOf is the canonical text of a shard's 16 bytes.
func shardIDOf(b []byte) (core.ShardID, bool) {
	if len(b) != 16 {
		return "", false
	}
	return core.ShardID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])), true
}

// isShardID reports whether a folder's name is a shard's.
func isShardID(name string) bool {
	if len(name) != 36 {
		return false
	}
	for i, c := range []byte(name) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}
