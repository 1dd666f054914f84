package core

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-data/sluice/guard"
)

// Distinct types for things that must not mix. All of them are plain values: comparable, printable and
// the same in memory, in a record and in a log.
type (
	// Version is the version of a base table or of a shard manifest. 0 means "none".
	Version uint64
	// Generation is the number of one SSTable of a shard: 1, 2, 3, … 0 means "nothing yet".
	Generation uint64
	// ShardID is a MemWAL shard's UUID in its canonical text form (lower case, with dashes).
	ShardID string
	// TableID is the id that adoption wrote into a table's metadata under [TableIDKey].
	TableID string
	// ExecutionID names one attempt to run one job on one worker.
	ExecutionID string
	// Endpoint is a worker's stable name; it is not its address.
	Endpoint string
	// Instance names one life of a process: two processes never share one.
	Instance string
	// Revision is a KV revision; it grows with every transaction that writes. 0 means "absent".
	Revision int64
	// MonoTime is a reading of the observing process's monotonic clock, in nanoseconds since some
	// moment of its own. Readings of different processes can't be compared.
	MonoTime int64
	// WallMillis is a wall clock reading in milliseconds since 1970. It is stored to be shown, never
	// to decide.
	WallMillis int64
	// Bytes is a size. A negative size means that it was not measured, which is not the same as zero.
	Bytes int64
)

// Unowned stands for the worker of shards that no live worker writes.
const Unowned Endpoint = "~unowned"

// Unmeasured is the size of an SSTable whose shard manifest records none.
const Unmeasured Bytes = -1

// Add returns the moment d after t.
func (t MonoTime) Add(d time.Duration) MonoTime { return t + MonoTime(d) }

// Since returns how long before t the moment u was.
func (t MonoTime) Since(u MonoTime) time.Duration { return time.Duration(t - u) }

// Target is a table, named by its path under the lake without ".lance": "db/events" is the directory
// db/events.lance. Only canonical names are targets (see [ParseTarget]), so one table has one name.
type Target string

// MaxTargetLength bounds a target's name, in bytes: its encoded form is part of KV keys and of a file
// name under _sluice/.
const MaxTargetLength = 512

// ParseTarget checks that s is the canonical name of a table.
func ParseTarget(s string) (Target, error) {
	bad := func(why string) (Target, error) {
		return "", fmt.Errorf("target %q %s; use the table's path under the lake without \".lance\", for example db/events", s, why)
	}
	switch {
	case s == "":
		return bad("is empty")
	case len(s) > MaxTargetLength:
		return bad(fmt.Sprintf("is longer than %d bytes", MaxTargetLength))
	case !utf8.ValidString(s):
		return bad("is not valid UTF-8")
	case strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/"):
		return bad("starts or ends with a slash")
	case strings.HasSuffix(s, ".lance"):
		return bad("ends with \".lance\"")
	}
	for seg := range strings.SplitSeq(s, "/") {
		switch {
		case seg == "":
			return bad("has an empty path segment")
		case seg == "." || seg == "..":
			return bad("has a path segment \"" + seg + "\"")
		case seg == "_sluice" || strings.HasSuffix(seg, ".lance"):
			return bad("lies inside \"" + seg + "\"")
		}
		for _, r := range seg {
			if r < 0x20 || r == 0x7f || r == '\\' {
				return bad(fmt.Sprintf("has the character %U", r))
			}
		}
	}
	return Target(s), nil
}

// Path is the table's directory under the lake.
func (t Target) Path() string { return string(t) + ".lance" }

// segment is the target as one path segment: "db" and "db/events" never share a prefix that ends at a
// slash, so a range over one never sweeps the other.
func (t Target) segment() string {
	if guard.Out(guard.PrefixNames) {
		return string(t)
	}
	return url.PathEscape(string(t))
}

// Segment is the target as one percent-encoded path segment, as it stands in keys and in _sluice/x/.
func (t Target) Segment() string { return t.segment() }

// TargetOfSegment is the inverse of [Target.Segment].
func TargetOfSegment(seg string) (Target, error) {
	s, err := url.PathUnescape(seg)
	if err != nil {
		return "", fmt.Errorf("decode target segment %q: %w", seg, err)
	}
	t, err := ParseTarget(s)
	if err == nil && t.segment() != seg {
		return "", fmt.Errorf("target segment %q is not the canonical form %q", seg, t.segment())
	}
	return t, err
}

// ResourceID is what a commit moves: [Base] or a shard.
type ResourceID string

// Base is the resource of a table's own versions.
const Base ResourceID = "base"

// ShardResource is the resource of one shard's manifest versions.
func ShardResource(s ShardID) ResourceID { return ResourceID("shard/" + string(s)) }

// Shard is the shard that the resource stands for; ok is false for [Base].
func (r ResourceID) Shard() (s ShardID, ok bool) {
	id, ok := strings.CutPrefix(string(r), "shard/")
	return ShardID(id), ok
}

// Kind says what job an execution does.
type Kind string

// The kinds of executions. Only one execution of a target lives at a time, whatever its kind.
const (
	KindMerge   Kind = "merge"
	KindSelf    Kind = "self"
	KindCompact Kind = "compact"
	KindIndex   Kind = "index"
	KindCleanup Kind = "cleanup"
)

// NamingScheme is how a table names its manifests. A table has one for its life; a file named in the
// other scheme makes it unreadable.
type NamingScheme string

// The naming schemes of Lance: "1.manifest", and "18446744073709551614.manifest" (2^64-1 - version).
const (
	V1 NamingScheme = "v1"
	V2 NamingScheme = "v2"
)

// Mark is the base's record of the last generation of a shard that has been merged into it.
type Mark struct {
	Shard      ShardID    `json:"shard"`
	Generation Generation `json:"generation"`
}

// Marks are a table's marks, sorted by shard, without duplicates and without zeros.
type Marks []Mark

// Of is the mark of a shard; 0 if nothing of it has been merged.
func (m Marks) Of(s ShardID) Generation {
	if i, ok := slices.BinarySearchFunc(m, s, func(a Mark, s ShardID) int { return cmp.Compare(a.Shard, s) }); ok {
		return m[i].Generation
	}
	return 0
}

// With returns marks in which s stands at g. The receiver is unchanged.
func (m Marks) With(s ShardID, g Generation) Marks {
	i, ok := slices.BinarySearchFunc(m, s, func(a Mark, s ShardID) int { return cmp.Compare(a.Shard, s) })
	out := slices.Clone(m)
	switch {
	case ok && g == 0:
		return slices.Delete(out, i, i+1)
	case ok:
		out[i].Generation = g
		return out
	case g == 0:
		return out
	}
	return slices.Insert(out, i, Mark{s, g})
}

// Equal reports whether both say the same of every shard.
func (m Marks) Equal(o Marks) bool { return slices.Equal(m, o) }
