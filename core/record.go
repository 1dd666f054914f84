package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Format is the version of the records that this program reads and writes.
const Format = 1

// Every record is JSON with its fields in this order, lists sorted where order means nothing, so that a
// record has exactly one text and a transaction can compare it whole.

// KVRecord says what this KV is: its random id, and the one lake that it serves.
type KVRecord struct {
	ID     string `json:"id"`
	Format int    `json:"format"`
	Lake   string `json:"lake"`
}

// TableRecord is what adoption knows of a table.
type TableRecord struct {
	ID     TableID      `json:"id"`
	Path   string       `json:"path"`
	Scheme NamingScheme `json:"scheme"`
	// Adopted is the version that carried the id first; 0 while the adoption is under way.
	Adopted Version `json:"adopted"`
	// LastExecution is the number of the newest execution that was reserved.
	LastExecution uint64 `json:"last_execution"`
	// LastID is that execution. If the lake knows another one by its number, there are two histories.
	LastID ExecutionID `json:"last_execution_id,omitempty"`
	// LastSeen is the newest base version that a released execution has seen; the lake may not fall
	// below it.
	LastSeen Version `json:"last_seen"`
}

// Phase is where an execution stands.
type Phase string

// The phases: Reserved → Running → Finished | Uncertain; any of them but Finished → Recovering →
// Recovered; Finished and Recovered → released, and the record is gone.
const (
	Reserved   Phase = "reserved"
	Running    Phase = "running"
	Finished   Phase = "finished"
	Uncertain  Phase = "uncertain"
	Recovering Phase = "recovering"
	Recovered  Phase = "recovered"
)

// Execution is one attempt to run one job on one worker. While Running the record never changes, so
// that comparing it whole in Admit cannot fail for an innocent reason.
type Execution struct {
	ID       ExecutionID `json:"id"`
	Number   uint64      `json:"number"`
	Target   Target      `json:"target"`
	Kind     Kind        `json:"kind"`
	Phase    Phase       `json:"phase"`
	Endpoint Endpoint    `json:"endpoint"`
	// Charge is the endpoint whose budget a failure goes to: the worker that writes the shards, or
	// [Unowned].
	Charge Endpoint `json:"charge"`
	// Shards are those that Reserve took out of the demand, sorted; Requested is when the oldest of
	// them was asked for first. They go back if the pass doesn't finish them.
	Shards    []ShardID  `json:"shards,omitempty"`
	Requested WallMillis `json:"requested_ms,omitempty"`
	Reserved  WallMillis `json:"reserved_ms,omitempty"`
	// Bytes is what Reserve sets aside for the pass: it takes no more, but one SSTable at least. Limit is
	// what the worker takes when nothing has run out of memory.
	Bytes   Bytes        `json:"bytes,omitempty"`
	Limit   Bytes        `json:"limit_bytes,omitempty"`
	TableID TableID      `json:"table_id"`
	Path    string       `json:"path"`
	Scheme  NamingScheme `json:"scheme"`

	// Written by Start.
	Instance    Instance    `json:"instance,omitempty"`
	Nonce       string      `json:"nonce,omitempty"`
	BaseVersion Version     `json:"base_version,omitempty"`
	Marks       Marks       `json:"marks,omitempty"`
	Plan        []ShardPlan `json:"plan,omitempty"`
	Started     WallMillis  `json:"started_ms,omitempty"`

	// Written by Finish, Freeze and FinishRecovery.
	End    *Failure   `json:"end,omitempty"` // why it ended; an empty code means that its work is done
	Ended  WallMillis `json:"ended_ms,omitempty"`
	More   bool       `json:"more,omitempty"` // a cleanup had more to do than one does
	Fenced []Fenced   `json:"fenced,omitempty"`
	Frozen WallMillis `json:"frozen_ms,omitempty"`
	By     Instance   `json:"by,omitempty"` // who froze it
}

// ShardPlan is what one pass takes of one shard: the generations First to Last, all of them.
type ShardPlan struct {
	Shard ShardID    `json:"shard"`
	First Generation `json:"first"`
	Last  Generation `json:"last"`
}

// Fenced says how far recovery had to lift a resource.
type Fenced struct {
	Resource ResourceID `json:"resource"`
	// Admitted is the watermark; Found is the latest version when recovery first looked.
	Admitted Version `json:"admitted"`
	Found    Version `json:"found"`
}

// Fences counts the versions that were occupied by fences.
func (f Fenced) Fences() uint64 {
	if f.Found >= f.Admitted {
		return 0
	}
	return uint64(f.Admitted - f.Found)
}

// Watermarks hold, for one execution, the highest version admitted so far of each resource.
type Watermarks struct {
	Execution ExecutionID `json:"execution"`
	// Versions are sorted by resource.
	Versions []Watermark `json:"versions,omitempty"`
}

// Watermark is the highest version admitted so far of one resource.
type Watermark struct {
	Resource ResourceID `json:"resource"`
	Version  Version    `json:"version"`
}

// Of is the watermark of a resource; 0 if nothing of it was admitted.
func (w Watermarks) Of(r ResourceID) Version {
	if i, ok := w.find(r); ok {
		return w.Versions[i].Version
	}
	return 0
}

// Raise returns watermarks in which r stands at v at least. Raising twice is raising once.
func (w Watermarks) Raise(r ResourceID, v Version) Watermarks {
	i, ok := w.find(r)
	out := Watermarks{Execution: w.Execution, Versions: slices.Clone(w.Versions)}
	if ok {
		out.Versions[i].Version = max(out.Versions[i].Version, v)
	} else {
		out.Versions = slices.Insert(out.Versions, i, Watermark{r, v})
	}
	return out
}

func (w Watermarks) find(r ResourceID) (int, bool) {
	return slices.BinarySearchFunc(w.Versions, r, func(a Watermark, r ResourceID) int { return cmp.Compare(a.Resource, r) })
}

// Progress is written only when completed work grew; a heartbeat never touches it.
type Progress struct {
	Execution ExecutionID `json:"execution"`
	Sequence  uint64      `json:"sequence"`
	Counters  Counters    `json:"counters"`
}

// Counters count completed work.
type Counters struct {
	Step    string `json:"step,omitempty"` // the engine's phase, to be shown
	Rows    int64  `json:"rows"`
	Batches int64  `json:"batches"`
	Bytes   Bytes  `json:"bytes"`
	Writes  int64  `json:"writes"` // storage writes that the gate has seen succeed
	Total   int64  `json:"total,omitempty"`
	// Allowance is how long the step under way may take, in milliseconds, where it can't report inside itself.
	Allowance int64 `json:"allowance_ms,omitempty"`
}

// History is what became of one execution.
type History struct {
	Execution Execution  `json:"execution"`
	Merged    bool       `json:"merged"` // marks ≥ what the pass planned, read from the base
	Failure   Failure    `json:"failure"`
	Base      Version    `json:"base"` // the latest base version at the release
	Counters  Counters   `json:"counters"`
	Released  WallMillis `json:"released_ms"`
}

// KeptHistory is how many executions and takeovers of a table are kept.
const KeptHistory = 50

// Takeover is what the recovery of one execution did.
type Takeover struct {
	Execution ExecutionID `json:"execution"`
	Endpoint  Endpoint    `json:"endpoint"`
	Reason    Failure     `json:"reason"`
	Fenced    []Fenced    `json:"fenced"`
	Frozen    WallMillis  `json:"frozen_ms"`
	Released  WallMillis  `json:"released_ms"`
	// Barrier is how long it took from Freeze to FinishRecovery, in milliseconds.
	Barrier WallMillis `json:"barrier_ms"`
	By      Instance   `json:"by"`
}

// WorkerRecord is the leased registration of a worker. It is constant for an instance.
type WorkerRecord struct {
	Endpoint     Endpoint     `json:"endpoint"`
	Instance     Instance     `json:"instance"`
	Address      string       `json:"address"`
	Slots        int          `json:"slots"`
	Bytes        Bytes        `json:"bytes"` // of SSTables that it takes on at a time, in all slots
	Pass         PassLimits   `json:"pass"`  // what one of its passes takes
	Declares     Declaration  `json:"declares"`
	Writes       []Written    `json:"writes,omitempty"` // see [WorkerConfig]
	Unsafe       string       `json:"unsafe,omitempty"` // why it can't run anything on its lake
	Capabilities []Capability `json:"capabilities"`
}

// MasterRecord is the leased registration of a master. It is constant for an instance.
type MasterRecord struct {
	ID           string       `json:"id"`
	Instance     Instance     `json:"instance"`
	Address      string       `json:"address"`
	Declares     Declaration  `json:"declares"`
	Capabilities []Capability `json:"capabilities"`
}

// Capability is something that every process of a fleet must be able to do before it is used.
type Capability string

// OwnedMerge is the capability to take part in owned merges as this protocol describes them.
const OwnedMerge Capability = "owned-merge/1"

// capability is what a worker must be able to do to run executions of a kind.
func (k Kind) capability() Capability {
	if k.Maintains() {
		return Capability(k + "/1")
	}
	return OwnedMerge
}

// Encode is a record's one text.
func Encode(record any) string {
	if text, ok := canonicalText(record); ok {
		return text
	}
	b, err := json.Marshal(record)
	if err != nil {
		panic(fmt.Sprintf("a record can always be encoded: %v: %+v", err, record))
	}
	return string(b)
}

// Decode reads a record. Unknown fields are an error: they were written by a newer program, which knows
// more about the table than we do.
func Decode[R any](key, value string) (R, error) {
	var r R
	err := decodeInto(key, value, &r)
	return r, err
}

// decodeInto is [Decode] into a record that is empty.
func decodeInto[R any](key, value string, r *R) error {
	if readCanonical(value, r) {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return fmt.Errorf("read record %s: %w", key, err)
	}
	return nil
}
