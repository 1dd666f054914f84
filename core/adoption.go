package core

import (
	"fmt"

	"github.com/sluice-data/sluice/guard"
)

// Adoption is how a table enters the protocol: one commit writes a new id into its metadata, over one
// that is there too (clones and copies carry the id of their origin), and one fence goes to each shard.
// Since that occupies latest + 1 of every resource, whatever an unknown past had in flight is dead.

// Adoptable says why a table can't be merged at all; nothing has been written by then.
func Adoptable(t Table) Failure {
	switch {
	case t.Base.UnknownFlags != 0:
		return Failure{Code: CodeTableFormat, Detail: fmt.Sprintf("the table has writer feature flags %#x that this program does not know; use a newer Sluice", t.Base.UnknownFlags)}
	case !t.Base.MemWAL:
		return Failure{Code: CodeNoMemWAL, Detail: "the table has no MemWAL index: it takes no LSM writes, so there is nothing to merge; create it with an LSM write spec"}
	case !t.Base.PrimaryKey:
		return Failure{Code: CodeNoPrimaryKey, Detail: "the table has no primary key, and without one a merge can't be made exactly once; set an unenforced primary key in its schema"}
	}
	return Failure{}
}

// Standing is how a known table stands before a reservation.
type Standing uint8

// The standings of a table.
const (
	StandsKnown     Standing = iota // it is the one that we know
	StandsUnadopted                 // no id, or ours is gone by the user's own restore: adopt it
	StandsRefused                   // closed until a person runs `sluice adopt`
)

// KnownHistory compares the executions that the lake knows with the newest one that the KV knows.
//
// One that only the lake knows is lost or doubled history: the KV was restored from a backup, its file was
// deleted, copied or used on a second machine (attack kv-restored). Then nothing runs until a person has
// said which one counts.
func KnownHistory(t Target, rec *TableRecord, numbers []Number) Failure {
	highest, known, last := uint64(0), uint64(0), ExecutionID("")
	if rec != nil {
		known, last = rec.LastExecution, rec.LastID
	}
	for _, n := range numbers {
		highest = max(highest, n.N)
		if n.N == known && n.Execution != last && !guard.Out(guard.LakeKnowsMore) {
			return Failure{Code: CodeLakeChanged, Detail: fmt.Sprintf("number %d of %s belongs to execution %s in this lake, not to %s: a second KV, or a restored one, ran here; run `sluice adopt %s` with the KV that is to own it", n.N, t, n.Execution, last, t)}
		}
	}
	if highest <= known || guard.Out(guard.LakeKnowsMore) {
		return Failure{}
	}
	return Failure{Code: CodeLakeChanged, Detail: fmt.Sprintf("the lake knows execution %d of %s, but the KV only %d: the KV was restored, copied or replaced; run `sluice adopt %s` with the KV that is to own it", highest, t, known, t)}
}

// Stand compares a table with what the KV knows of it; rec is nil if the KV knows nothing.
func Stand(rec *TableRecord, t Table, numbers []Number) (Standing, Failure) {
	if f := KnownHistory(t.Target, rec, numbers); !f.OK() {
		return StandsRefused, f
	}
	if f := Adoptable(t); !f.OK() {
		return StandsRefused, f
	}
	switch {
	case rec == nil || rec.Adopted == 0:
		return StandsUnadopted, Failure{}
	case t.Base.Version < rec.LastSeen:
		return StandsRefused, wentBack(t.Target, t.Base.Version, rec.LastSeen)
	case t.Base.TableID == "":
		return StandsUnadopted, Failure{}
	}
	if f := SameIdentity(rec.ID, rec.Scheme, t.Base); !f.OK() {
		f.Detail += fmt.Sprintf("; run `sluice adopt %s` if that is intended", t.Target)
		return StandsRefused, f
	}
	return StandsKnown, Failure{}
}

// contradicts reports whether a failure says that the lake contradicts what the KV knows of a table; only
// a person's word ends that.
func contradicts(f Failure) bool {
	return f.Code == CodeLakeChanged || f.Code == CodeLakeWentBack || f.Code == CodeTableReplaced
}

// AdoptionSteps are the resources to occupy for an adoption with the version each must take: the base
// first, then every shard.
func AdoptionSteps(t Table) []Watermark {
	steps := []Watermark{{Base, t.Base.Version + 1}}
	for _, s := range t.Shards {
		steps = append(steps, Watermark{ShardResource(s.Shard), s.Version + 1})
	}
	return steps
}

// BeginAdoption chooses the table's new id, before anything is written into the table. The KV decides:
// two masters that adopt at once, or one that crashes and comes back, all write the same id.
//
// It compares that nobody owns the table: an execution on the old identity is recovered first.
func BeginAdoption(seen Seen[TableRecord], t Target, id TableID, scheme NamingScheme, numbers []Number) (TableRecord, Txn) {
	rec := TableRecord{ID: id, Path: t.Path(), Scheme: scheme, LastExecution: seen.Value.LastExecution, LastID: seen.Value.LastID}
	for _, n := range numbers {
		if n.N >= rec.LastExecution {
			rec.LastExecution, rec.LastID = n.N, n.Execution
		}
	}
	return rec, Txn{
		Name: "begin-adoption",
		If:   []Cond{seen.Unchanged(), Absent(OwnerKey(t))},
		Then: []Op{Put(TableKey(t), Encode(rec))},
	}
}

// EndAdoption records that the table carries its id, from version v on.
//
// waived are the budgets of a table that a person has had adopted anew: what they wait for is answered by
// that person's word, so they are due at once. Their attempts and their attention stay (invariant 5).
func EndAdoption(begun TableRecord, t Target, v Version, waived ...Seen[FailureRecord]) Txn {
	done := begun
	done.Adopted, done.LastSeen = v, v
	txn := Txn{
		Name: "end-adoption",
		If:   []Cond{Holds(TableKey(t), Encode(begun)), Absent(OwnerKey(t))},
		Then: []Op{Put(TableKey(t), Encode(done))},
	}
	for _, f := range waived[:min(len(waived), MaxTxnOps/2)] {
		txn.If = append(txn.If, f.Unchanged())
		txn.Then = append(txn.Then, Put(f.Key, Encode(f.Value.Waived())))
	}
	return txn
}
