package sim

import "github.com/sluice-data/sluice/core"

// What an engine may try that it may not: the gate refuses each of them.
const (
	rogueGap    = iota + 1 // a version after a gap
	rogueMarks             // marks beyond its plan
	rogueMemWAL            // a table without its MemWAL index
	rogueScheme            // a manifest of the other naming scheme
	rogueBody              // a body that says another version than its name
	rogueTable             // the id of another table
	rogueFlags             // a writer feature that nobody knows
	rogueKind              // an operation that is no merge
	rogues      = iota
)

// misdeed makes of a commit what a rogue engine does.
func (en *engine) misdeed(a *attempt) {
	switch en.script.rogue {
	case rogueGap:
		a.body.Version++
		if en.exec.Number%2 == 0 {
			a.table.foreign() // and somebody fills the gap just then
		}
	case rogueMarks:
		for _, p := range en.exec.Plan {
			a.body.Marks = a.body.Marks.With(p.Shard, p.Last+1)
		}
	case rogueMemWAL:
		a.body.MemWAL = false
	case rogueScheme:
		a.body.Scheme = core.V1
	case rogueTable:
		a.body.TableID = "another table's"
	case rogueFlags:
		a.body.UnknownFlags = 1 << 40
	case rogueKind:
		a.body.Operation = core.OpOverwrite
	}
}

// corrupt is the failure of an engine whose plan has an SSTable that nobody can read.
func (w *world) corrupt(en *engine) (core.Failure, bool) {
	t := w.lake.tables[en.exec.Target]
	if t == nil {
		return core.Failure{}, false
	}
	for _, p := range en.exec.Plan {
		if s := t.shard(p.Shard); s != nil && s.corrupt > 0 && p.Last >= s.corrupt {
			if t.mute {
				return core.Failure{Code: core.CodeEngineKilled, Detail: "killed by signal 11"}, true
			}
			return core.Failure{Code: core.CodeSSTableCorrupt, Detail: "corrupt", Shard: p.Shard, Generation: max(p.First, s.corrupt)}, true
		}
	}
	return core.Failure{}, false
}
