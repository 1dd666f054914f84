package engine

import (
	"fmt"

	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// Job says exactly what one pass merges. Its twin, like that of every message, is in
// python/sluice_engine/wire.py.
type Job struct {
	// URI is the table: s3://lake/db/events.lance, or a directory.
	URI string `json:"uri"`
	// StorageOptions are Lance's, credentials among them. They are never logged.
	StorageOptions map[string]string `json:"storage_options"`
	// BaseVersion is the base's version at Start. An older one ends the job with E_LAKE_WENT_BACK.
	BaseVersion core.Version `json:"base_version"`
	// Shards are the shards of the pass, each at most once.
	Shards []Shard `json:"shards"`
}

// Shard is a shard's part of a pass.
type Shard struct {
	Shard core.ShardID `json:"shard"`
	// Mark is the shard's mark at Start.
	Mark core.Generation `json:"mark"`
	// Generations are contiguous from Mark + 1; the last one becomes the new mark.
	Generations []Generation `json:"generations"`
}

// Generation is one SSTable to merge.
type Generation struct {
	Generation core.Generation `json:"generation"`
	// Path is the name of its directory under the shard's folder.
	Path string `json:"path"`
	// Bytes is its size in memory, or [core.Unmeasured]. It decides only how it is read.
	Bytes core.Bytes `json:"bytes"`
}

// Validate says what is wrong with the job: a pass that is not contiguous fails with E_GENERATION_GAP.
func (j Job) Validate() error {
	if j.URI == "" || len(j.Shards) == 0 {
		return fmt.Errorf("engine job names no table or no shard")
	}
	seen := map[core.ShardID]bool{}
	for _, s := range j.Shards {
		if seen[s.Shard] || len(s.Generations) == 0 {
			return fmt.Errorf("engine job: shard %s is named twice or without generations", s.Shard)
		}
		seen[s.Shard] = true
		for i, g := range s.Generations {
			if want := s.Mark + core.Generation(i) + 1; g.Generation != want {
				return core.Failure{
					Code: core.CodeGenerationGap, Shard: s.Shard, Generation: want,
					Detail: fmt.Sprintf("shard %s: generation %d is missing, %d comes next", s.Shard, want, g.Generation),
				}
			}
		}
	}
	return nil
}

// Event is what an engine reports: [Progress], [Plan], [Done] or [Failed]. Done or Failed is the last one.
type Event interface{ event() }

// Progress counts completed work from the start of the pass. What is done again after a lost commit is not
// counted again.
type Progress struct {
	Phase   Phase      `json:"phase"`
	Rows    int64      `json:"rows"`
	Batches int64      `json:"batches"`
	Bytes   core.Bytes `json:"bytes"`
}

// Phase is what the engine completed a part of.
type Phase string

// The phases of a pass.
const (
	PhaseRead   Phase = "read"
	PhaseMerge  Phase = "merge"
	PhaseCommit Phase = "commit"
)

// Plan says how the pass will commit. The engine tells it before each try to publish the pass, again after
// a try that was lost to somebody else's commit, and waits for [Process.Go].
type Plan struct {
	// Rows are to be upserted, Tombstones keys deleted.
	Rows       int64 `json:"rows"`
	Tombstones int64 `json:"tombstones"`
	// Commits is 1, or 2: first the upsert without marks, then the delete with them.
	Commits int `json:"commits"`
	// Rebasable says whether the commit with the marks may land on a version other than the one it read.
	// Where it is false the gate must admit that commit only at ReadVersion + 1, or right after the upsert
	// without marks, which may always be rebased.
	Rebasable bool `json:"rebasable"`
	// ReadVersion is the base version that this try is made on.
	ReadVersion core.Version `json:"read_version"`
}

// Done says that the pass was committed, as far as the engine knows; the base's marks decide.
type Done struct {
	RowsUpserted int64        `json:"rows_upserted"`
	RowsDeleted  int64        `json:"rows_deleted"`
	Version      core.Version `json:"version"`
}

// Failed says why the pass was not committed, as far as the engine knows; the base's marks decide.
type Failed struct{ core.Failure }

func (Progress) event() {}
func (Plan) event()     {}
func (Done) event()     {}
func (Failed) event()   {}

// ready is the first message of a process: it has imported lance and waits for a job.
type ready struct {
	Pylance string `json:"pylance"`
	PID     int    `json:"pid"`
}

// failed is Failed on the wire.
type failed struct {
	Code       core.Code       `json:"code"`
	Message    string          `json:"message"`
	Shard      core.ShardID    `json:"shard"`
	Generation core.Generation `json:"generation"`
	Other      core.ShardID    `json:"other"`
}

func (f failed) failure() core.Failure {
	return core.Failure{Code: f.Code, Detail: f.Message, Shard: f.Shard, Generation: f.Generation, Other: f.Other}
}

// job is Job on the wire.
type job struct {
	Job
	ReadThreads int `json:"read_threads"`
	// Without names the rules of the merge that this build leaves out: none, but for builds that show
	// that a test would notice.
	Without []guard.Name `json:"without"`
}

// proceed lets the engine begin to commit.
type proceed struct{}
