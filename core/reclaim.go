package core

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/guard"
)

// Reclaiming: an SSTable that has been merged stays until nobody needs it any more. Then it is written down, leaves
// its shard's manifest, and only then its directory is deleted, so that a crash between any two of these steps
// leaves a record of what is left to do, and never a manifest that names what is gone (attack reclaim-crash).
// Nothing is ever deleted for not being listed (invariant 10): only what stands in the record.

// Reclaim are the SSTables of a table that are on their way to deletion.
type Reclaim struct {
	SSTables []Reclaimed `json:"sstables"` // sorted by shard and generation
}

// Reclaimed is one SSTable that nobody needs any more.
type Reclaimed struct {
	Shard      ShardID    `json:"shard"`
	Generation Generation `json:"generation"`
	Path       string     `json:"path"` // its directory under the shard's folder
}

// Deletes is a batch of deletes on its way to storage. It is written before the batch is sent and goes with its
// answers, so that a recovery knows of what may still land (attack delete-in-flight).
type Deletes struct {
	Execution ExecutionID `json:"execution"`
	Names     []string    `json:"names"` // of directories, under the table
	Sent      WallMillis  `json:"sent_ms"`
}

// KeptVersion is one version of a base that still exists, as a deep survey finds it.
type KeptVersion struct {
	Version Version
	// Age is by the lake's own clock, which has written it and answers now: no process's clock is believed.
	Age    time.Duration
	Marks  Marks
	Tagged bool
}

// Graces are how long what is merged is kept all the same.
type Graces struct {
	// Reader is how long a reader may go on with what it opened.
	Reader time.Duration
	// Retention is how long every version can be read, and restored, with all that it needs.
	Retention time.Duration
}

// DefaultGraces are those of a table without a policy that says otherwise.
var DefaultGraces = Graces{Reader: time.Hour, Retention: 7 * 24 * time.Hour}

// maxReclaimed bounds what one execution takes away, so that its record stays small. What has to wait there for a shard
// that can't be read takes no room from others (invariant 8).
const maxReclaimed = 256

// reclaimable is the highest generation of a shard that nobody needs any more: the base covers it, and so does every
// index, and every version that somebody may still read. A table that a survey does not show all of has none.
func reclaimable(t Table, s ShardID, g Graces) Generation {
	covered := t.Base.Marks.Of(s)
	if guard.Out(guard.CoveredIsDrained) {
		return covered
	}
	if t.Base.Indexes > 0 && !guard.Out(guard.IndexesCoverFirst) {
		covered = min(covered, t.Base.Indexed.Of(s)) // absent means that it covers nothing (attack early-drain)
	}
	if len(t.Versions) == 0 {
		return 0
	}
	if oldest := t.Versions[0]; oldest.Version > 1 && oldest.Age < g.Reader {
		return 0 // somebody has removed older ones, and who opened one of them may still read it
	}
	for i, v := range t.Versions {
		if v.needed(t.Versions[i+1:], g) {
			covered = min(covered, v.Marks.Of(s))
		}
	}
	return covered
}

// needed reports whether somebody may read a version: it is tagged, or young, or the head, or somebody opened it
// while it was. newer are the versions after it, in order.
func (v KeptVersion) needed(newer []KeptVersion, g Graces) bool {
	if guard.Out(guard.ReadersHaveGrace) {
		return len(newer) == 0
	}
	return len(newer) == 0 || v.Tagged && !guard.Out(guard.TagsAreKept) || v.Age < g.Retention || newer[0].Age < g.Reader
}

// reclaims are the SSTables that can be written down next, beside those that are already.
func reclaims(t Table, g Graces, known Reclaim) (out Reclaim, more bool) {
	out.SSTables = slices.Clone(known.SSTables)
	room := maxReclaimed
	for _, sst := range known.SSTables {
		if !t.tears(sst.Shard) || guard.Out(guard.TornTakesNoRoom) {
			room--
		}
	}
	for _, s := range t.Shards {
		if s.Torn != "" {
			continue
		}
		last := reclaimable(t, s.Shard, g)
		for _, st := range t.covered(s) {
			r := Reclaimed{s.Shard, st.Generation, st.Path}
			switch {
			case st.Generation > last || slices.Contains(known.SSTables, r):
			case !r.proper() && !guard.Out(guard.OneDirectoryGoes): // nobody knows what would be deleted (invariant 10)
			case room <= 0:
				more = true
			default:
				out.SSTables = append(out.SSTables, r)
				room--
			}
		}
	}
	return out, more
}

// tears reports whether the manifest of a shard can't be read.
func (t Table) tears(s ShardID) bool {
	return slices.ContainsFunc(t.Shards, func(m ShardManifest) bool { return m.Shard == s && m.Torn != "" })
}

// proper reports whether its path names one directory of its own in the shard's folder, beside those of manifests and
// of the log.
func (r Reclaimed) proper() bool {
	return r.Path != "" && r.Path != "." && r.Path != ".." && r.Path != "manifest" && r.Path != "wal" && !strings.ContainsAny(r.Path, `/\%`)
}

// listed are those of a shard that its manifest still names.
func (r Reclaim) listed(s ShardManifest) (out []Reclaimed) {
	for _, sst := range r.SSTables {
		if sst.Shard == s.Shard && slices.ContainsFunc(s.SSTables, func(st SSTable) bool {
			return st.Generation == sst.Generation && st.Path == sst.Path
		}) {
			out = append(out, sst)
		}
	}
	return out
}

// drained are those that no manifest of the table names any more. Of a shard that can't be read nothing is known.
func (r Reclaim) drained(t Table) (out []Reclaimed) {
	for _, sst := range r.SSTables {
		i := slices.IndexFunc(t.Shards, func(s ShardManifest) bool { return s.Shard == sst.Shard })
		if i < 0 || t.Shards[i].Torn != "" {
			continue
		}
		if !slices.Contains(r.listed(t.Shards[i]), sst) || guard.Out(guard.DrainBeforeDelete) {
			out = append(out, sst)
		}
	}
	return out
}

// back are those that somebody needs after all: an older state was brought back, or tagged, since they were written
// down. They stay.
func (r Reclaim) back(t Table, g Graces) (out []Reclaimed) {
	if guard.Out(guard.DrainReadsMarksBack) {
		return nil
	}
	drained := r.drained(t)
	for _, sst := range r.SSTables {
		last := reclaimable(t, sst.Shard, g)
		if slices.Contains(drained, sst) {
			last = t.Base.Marks.Of(sst.Shard) // it can't be had back by a tag
		}
		if sst.Generation > last {
			out = append(out, sst)
		}
	}
	return out
}

func (r Reclaim) without(gone []Reclaimed) Reclaim {
	return Reclaim{slices.DeleteFunc(slices.Clone(r.SSTables), func(s Reclaimed) bool { return slices.Contains(gone, s) })}
}

// op is the write that stores the record: a put, or a delete when nothing is left.
func (r Reclaim) op(t Target) Op {
	if len(r.SSTables) == 0 {
		return Delete(ReclaimKey(t))
	}
	return Put(ReclaimKey(t), Encode(r))
}

// name is the directory of an SSTable under its table.
func (r Reclaimed) name() string { return "_mem_wal/" + string(r.Shard) + "/" + r.Path }

// WriteReclaim changes what is on its way to deletion, on behalf of e.
func WriteReclaim(e Execution, seen Seen[Reclaim], r Reclaim) Txn {
	return Txn{Name: "reclaim", If: append(owned(e), seen.Unchanged()), Then: []Op{r.op(e.Target)}}
}

// SendDeletes records a batch before it is sent.
func SendDeletes(e Execution, seen Seen[Deletes], names []string, at WallMillis) Txn {
	return Txn{Name: "send-deletes", If: append(owned(e), seen.Unchanged()), Then: []Op{
		Put(DeletesKey(e.Target), Encode(Deletes{e.ID, names, at})),
	}}
}

// HaveDeleted records that a batch is gone, all of it.
func HaveDeleted(e Execution, deletes Seen[Deletes], reclaim Seen[Reclaim], gone []Reclaimed) Txn {
	return Txn{Name: "have-deleted", If: append(owned(e), deletes.Unchanged(), reclaim.Unchanged()), Then: []Op{
		Delete(DeletesKey(e.Target)), reclaim.Value.without(gone).op(e.Target),
	}}
}
