package core

import "github.com/sluice-data/sluice/guard"

// Code is the typed reason of a failure. It is set where the cause is first known, from structured
// facts; no code is ever guessed from digits inside a message.
type Code string

// The codes, by class. See [Code.Class].
const (
	CodeOK Code = ""

	// Transient: the same attempt may succeed later.
	CodeEngineUnknown  Code = "E_ENGINE_UNKNOWN"  // the engine failed in a way that no rule names
	CodeEngineKilled   Code = "E_ENGINE_KILLED"   // a signal that we didn't send ended it
	CodeEngineOOM      Code = "E_ENGINE_OOM"      // it ran out of memory
	CodeCommitConflict Code = "E_COMMIT_CONFLICT" // somebody else's commit came first
	CodeBaseContended  Code = "E_BASE_CONTENDED"  // it came first five times in a row
	CodeStale          Code = "E_STALE"           // Lance calls the pass stale: done already, or a lost race
	CodeRefused        Code = "E_REFUSED"         // the gate refused a commit
	CodeNoProgress     Code = "E_NO_PROGRESS"     // nothing was completed within the no-progress limit
	CodeTimeLimit      Code = "E_TIME_LIMIT"      // the execution limit ran out
	CodeWorkerGone     Code = "E_WORKER_GONE"     // its worker is gone, or does not know it
	CodeQueueLimit     Code = "E_QUEUE_LIMIT"     // reserved and never started; charged to nobody
	CodeStorage        Code = "E_STORAGE"         // the lake could not be read or written
	CodeKV             Code = "E_KV"              // the KV could not be reached
	CodeCancelled      Code = "E_CANCELLED"       // somebody asked for it; charged to nobody

	// Data: a row, an SSTable or a manifest is not what it must be.
	CodeSSTableMissing  Code = "E_SSTABLE_MISSING"
	CodeSSTableCorrupt  Code = "E_SSTABLE_CORRUPT"
	CodeManifestCorrupt Code = "E_MANIFEST_CORRUPT"
	CodeGenerationGap   Code = "E_GENERATION_GAP"
	CodeKeyInTwoShards  Code = "E_KEY_IN_TWO_SHARDS"
	CodeTooLarge        Code = "E_TOO_LARGE"

	// Config: the table or the fleet is not set up for this.
	CodeTableFormat   Code = "E_TABLE_FORMAT"   // a feature flag or naming that we don't know
	CodeTableMissing  Code = "E_TABLE_MISSING"  // there is no Lance table at that path
	CodeTableReplaced Code = "E_TABLE_REPLACED" // another table stands at that path
	CodeNoMemWAL      Code = "E_NO_MEMWAL"      // the table takes no LSM writes
	CodeNoPrimaryKey  Code = "E_NO_PRIMARY_KEY"
	CodeLakeWentBack  Code = "E_LAKE_WENT_BACK" // the lake shows an older state than it did
	CodeLakeChanged   Code = "E_LAKE_CHANGED"   // the lake knows executions that this KV does not
	CodeEngineMissing Code = "E_ENGINE_MISSING" // no Python or no pylance of the pinned version
	CodeAuth          Code = "E_AUTH"           // the lake refused our credentials
)

// Class says what to do about a failure.
type Class string

// The classes. Only transient failures are worth an early retry; the others need a person.
const (
	Transient Class = "transient"
	Data      Class = "data"
	Config    Class = "config"
	Auth      Class = "auth"
)

// Class maps the code to its class. A code that the table does not name is transient: it is retried,
// and the budget raises attention when that doesn't help.
func (c Code) Class() Class {
	switch c {
	case CodeSSTableMissing, CodeSSTableCorrupt, CodeManifestCorrupt, CodeGenerationGap,
		CodeKeyInTwoShards, CodeTooLarge:
		return Data
	case CodeTableFormat, CodeTableMissing, CodeTableReplaced, CodeNoMemWAL, CodeNoPrimaryKey,
		CodeLakeWentBack, CodeLakeChanged, CodeEngineMissing:
		return Config
	case CodeAuth:
		return Auth
	}
	return Transient
}

// Charged reports whether a failure with this code counts against the budget of its shard's endpoint.
func (c Code) Charged() bool {
	switch c {
	case CodeOK, CodeQueueLimit, CodeCancelled, CodeStale:
		return false
	}
	return c != CodeEngineKilled || !guard.Out(guard.KilledIsFree)
}

// Failure is a code with the words that go with it.
type Failure struct {
	Code   Code   `json:"code"`
	Detail string `json:"detail,omitempty"`
	// Shard and Generation are set when the cause lies in one SSTable.
	Shard      ShardID    `json:"shard,omitempty"`
	Generation Generation `json:"generation,omitempty"`
	// Other is the second shard of [CodeKeyInTwoShards].
	Other ShardID `json:"other,omitempty"`
}

func (f Failure) Error() string { return string(f.Code) + ": " + f.Detail }

// OK reports whether nothing failed.
func (f Failure) OK() bool { return f.Code == CodeOK }
