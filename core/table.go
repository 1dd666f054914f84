package core

import "fmt"

// TableIDKey is the key in a table's metadata that adoption writes and that every execution, admission
// and fence compares.
const TableIDKey = "sluice.table_id"

// FenceKey is the key in a table's metadata that a fence writes; its value names the fenced execution.
const FenceKey = "sluice.fence"

// Table is what one look at a table's manifests says. No row is read for it.
type Table struct {
	Target Target
	Base   BaseManifest
	// Shards are sorted by id.
	Shards []ShardManifest
	// Versions are those of the base that still exist, in order, the head last. Only a deep survey shows them.
	Versions []KeptVersion
}

// BaseManifest is what the protocol needs of one base manifest.
type BaseManifest struct {
	Version Version
	Scheme  NamingScheme
	// TableID is empty if the metadata has no [TableIDKey].
	TableID TableID
	// MemWAL says whether the table has a MemWAL index; without one it has no marks and no shards.
	MemWAL bool
	Marks  Marks
	// PrimaryKey says whether the schema names an unenforced primary key.
	PrimaryKey bool
	// UnknownFlags are the writer feature flags that this program does not know. A table that has one
	// is neither adopted nor fenced.
	UnknownFlags uint64
	// ReadVersion and Operation are those of the transaction that made this version. Operation is
	// empty if the manifest carries no inline transaction.
	ReadVersion Version
	Operation   Operation
	// Small counts the fragments that a compaction would rewrite, Uncovered those that some index has not taken in.
	Small     int
	Uncovered int
	// Indexes counts the table's indexes but that of the MemWAL; Indexed are the marks up to which each of them has
	// taken in what was merged, so that a shard which one of them says nothing of is absent.
	Indexes int
	Indexed Marks
}

// ShardManifest is what the protocol needs of one shard's latest manifest.
type ShardManifest struct {
	Shard   ShardID
	Version Version
	// SSTables are sorted by generation.
	SSTables []SSTable
	// Torn says why the manifest can't be read though storage gave it; then nothing is known of its SSTables.
	// That stops this shard and no other (attack one-bad-shard).
	Torn string
}

// SSTable is one flushed generation of a shard.
type SSTable struct {
	Generation Generation
	// Path is the name of its directory under the shard's folder.
	Path string
	// Size is what it took in memory when it was flushed; [Unmeasured] if its writer recorded none.
	Size Bytes
	// Rows counts physical rows, tombstones too; -1 if its writer recorded none.
	Rows int64
}

// Operation is the kind of change that a Lance transaction makes.
type Operation string

// The operations that the protocol speaks of. A transaction of any other kind is [OpOther].
const (
	OpUpdate           Operation = "Update"
	OpDelete           Operation = "Delete"
	OpAppend           Operation = "Append"
	OpOverwrite        Operation = "Overwrite"
	OpRewrite          Operation = "Rewrite"
	OpReserveFragments Operation = "ReserveFragments"
	OpCreateIndex      Operation = "CreateIndex"
	OpUpdateConfig     Operation = "UpdateConfig"
	OpRestore          Operation = "Restore"
	OpMerge            Operation = "Merge"
	OpProject          Operation = "Project"
	OpOther            Operation = "other"
)

// Pending are the SSTables above the mark, in order of generation.
func (t Table) Pending(s ShardManifest) []SSTable {
	mark := t.Base.Marks.Of(s.Shard)
	for i, st := range s.SSTables {
		if st.Generation > mark {
			return s.SSTables[i:]
		}
	}
	return nil
}

// AnyPending reports whether some shard has an SSTable above its mark.
func (t Table) AnyPending() bool {
	for _, s := range t.Shards {
		if len(t.Pending(s)) > 0 {
			return true
		}
	}
	return false
}

// unmerged are the shards with something above their mark, or of which nobody can tell.
func (t Table) unmerged() (shards []ShardID, generations int) {
	for _, s := range t.Shards {
		n := len(t.Pending(s))
		if n > 0 || s.Torn != "" {
			shards = append(shards, s.Shard)
		}
		generations += n
	}
	return shards, generations
}

// torn is the failure of the first shard that can't be read.
func (t Table) torn() Failure {
	for _, s := range t.Shards {
		if s.Torn != "" {
			return Failure{Code: CodeManifestCorrupt, Shard: s.Shard, Detail: s.Torn}
		}
	}
	return Failure{}
}

// Latest is the latest version of a resource of the table; 0 for a shard that the table doesn't have.
func (t Table) Latest(r ResourceID) Version {
	if r == Base {
		return t.Base.Version
	}
	id, _ := r.Shard()
	for _, s := range t.Shards {
		if s.Shard == id {
			return s.Version
		}
	}
	return 0
}

func (m Mark) String() string { return fmt.Sprintf("%s≤%d", m.Shard, m.Generation) }
