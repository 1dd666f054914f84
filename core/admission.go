package core

import (
	"fmt"
	"slices"

	"github.com/sluice-data/sluice/guard"
)

// CommitIntent is one attempt to put a base manifest, as the gate has read it: the name, the body and
// what the lake shows. The gate collects facts; [Judge], [JudgeName] and [JudgeClient] decide.
type CommitIntent struct {
	Target Target
	// Execution is the one whose credential signed the request; empty for a client.
	Execution ExecutionID
	// Name is what the key says.
	Name ManifestName
	// Latest is the table's newest manifest, read from the lake; zero if the table has none.
	Latest BaseManifest
	// Body is what the file says.
	Body BaseManifest
}

// ManifestName is a version with the scheme that its file name is written in.
type ManifestName struct {
	Version Version
	Scheme  NamingScheme
}

// Attempt is what an engine declares before each try to publish its pass. The zero value lets nothing
// that must follow directly through.
type Attempt struct {
	// Rebasable: the commits of others may lie between what was read and the commit. Only a pass without
	// tombstones is.
	Rebasable bool
	// Read is the base version that the try is made on.
	//
	// NB: the manifest can't tell. When Lance rebases a commit over those of others it writes the newest
	// of them into the transaction as its read version, and what was read really is lost.
	Read Version
}

// Verdict is the answer to a commit intent. Its zero value lets the intent go on.
type Verdict struct {
	// Status is the HTTP status to answer with; 0 if nothing is refused. 412 is only ever given for a
	// version that has been read back as present (attack early-conflict).
	Status int
	// Rule names the rule that refuses, for the log and for the operator.
	Rule   Rule
	Detail string
}

// OK reports whether nothing is refused.
func (v Verdict) OK() bool { return v.Status == 0 }

// code is the typed reason of an execution that fails because of a refusal.
func (v Verdict) code() Code {
	switch v.Rule {
	case RuleTableID:
		return CodeTableReplaced
	case RuleMemWAL:
		return CodeNoMemWAL
	case RuleUnknownFlags, RuleNamingScheme:
		return CodeTableFormat
	case RuleBehindStart:
		return CodeLakeWentBack
	case RuleDirectSuccess, RuleOccupied:
		return CodeCommitConflict
	case RuleKVUnavailable:
		return CodeKV
	case RuleTurn:
		return CodeStorage
	}
	return CodeRefused
}

// Rule names one rule of admission.
type Rule string

// The rules, in the order in which they are asked.
const (
	RuleOccupied      Rule = "occupied"        // the version exists already: 412
	RuleNextOnly      Rule = "next-only"       // only latest + 1
	RuleNamingScheme  Rule = "naming-scheme"   // only the table's one scheme
	RuleBodyVersion   Rule = "body-version"    // the body's version is its name's
	RuleNotYours      Rule = "not-yours"       // the credential's execution is of another table
	RuleNotRunning    Rule = "not-running"     // the execution is over, cancelled, or not ours
	RuleTableID       Rule = "table-id"        // the table is not the one from Start
	RuleMemWAL        Rule = "mem-wal"         // the MemWAL index is gone
	RuleMarks         Rule = "marks"           // marks other than planned
	RuleOperation     Rule = "operation"       // an operation that is not of its kind
	RuleDirectSuccess Rule = "read-version"    // must follow its read version directly
	RuleForeignMarks  Rule = "foreign-marks"   // a client raises marks on an owned table
	RuleUnknownFlags  Rule = "unknown-flags"   // writer flags that we don't know
	RuleBehindStart   Rule = "lake-went-back"  // the lake shows less than at Start
	RuleKVUnavailable Rule = "kv-unavailable"  // admission could not be asked in time: 503
	RuleTurn          Rule = "storage-timeout" // the storage did not answer in time: 503
)

func refuse(status int, r Rule, format string, args ...any) Verdict {
	return Verdict{Status: status, Rule: r, Detail: fmt.Sprintf(format, args...)}
}

// JudgeName judges a manifest's name alone. It holds for every credential.
//
// Only latest + 1 may be put: a manifest after a gap would hide every commit before it (attack
// gap-version), and a second naming scheme makes the table unreadable (attack wrong-body).
func JudgeName(name ManifestName, latest BaseManifest) Verdict {
	switch {
	case name.Version == 0:
		return refuse(403, RuleNextOnly, "version 0 does not exist")
	case latest.Version > 0 && name.Scheme != latest.Scheme && !guard.Out(guard.NamingScheme):
		return refuse(403, RuleNamingScheme, "the table's manifests are named in scheme %s, not %s", latest.Scheme, name.Scheme)
	case name.Version <= latest.Version:
		return refuse(412, RuleOccupied, "version %d exists; the latest is %d", name.Version, latest.Version)
	case name.Version > latest.Version+1 && !guard.Out(guard.NextOnly):
		return refuse(403, RuleNextOnly, "version %d would leave a gap; the next one is %d", name.Version, latest.Version+1)
	}
	return Verdict{}
}

// JudgeBody judges a manifest's name against its body. It holds for every credential: a file whose name
// says more than its body becomes the head and hides what comes later.
func JudgeBody(in CommitIntent) Verdict {
	if in.Body.Version != in.Name.Version && !guard.Out(guard.BodyVersion) {
		return refuse(403, RuleBodyVersion, "the name says version %d, the body %d", in.Name.Version, in.Body.Version)
	}
	return Verdict{}
}

// JudgeClient judges the commit of a user's own program. Its commits are ordinary Lance writes, but on a
// table that Sluice merges (owned or draining) nobody else's merge runs through our gate: a client that
// raises marks would cover generations that our pass is reading (attack foreign-merge).
func JudgeClient(in CommitIntent, m Mode) Verdict {
	if v := JudgeName(in.Name, in.Latest); !v.OK() {
		return v
	}
	if v := JudgeBody(in); !v.OK() {
		return v
	}
	if m != Owned && m != Draining || guard.Out(guard.ForeignMarks) {
		return Verdict{}
	}
	for _, b := range in.Body.Marks {
		if b.Generation > in.Latest.Marks.Of(b.Shard) {
			return refuse(403, RuleForeignMarks, "the table is %s: only its executions may raise the mark of shard %s", m, b.Shard)
		}
	}
	return Verdict{}
}

// Judge judges the commit of an execution against its record and what has landed of it so far. It is
// asked before Admit; it needs no KV, because the record is immutable while Running.
//
// landed are the versions of the base that this execution is known to have published, in order; attempt
// is what its engine declared before it began to publish. A pass with tombstones must follow the version
// that it read directly, because Lance does not see a key that somebody inserts between the read and a
// delete of it (attack resurrection).
func Judge(e Execution, landed []Version, attempt Attempt, in CommitIntent) Verdict {
	if in.Target != e.Target {
		return refuse(403, RuleNotYours, "execution %s is of %s", e.ID, e.Target)
	}
	if e.Phase != Running {
		return refuse(403, RuleNotRunning, "execution %s is %s", e.ID, e.Phase)
	}
	if v := JudgeName(in.Name, in.Latest); !v.OK() {
		return v
	}
	if v := JudgeBody(in); !v.OK() {
		return v
	}
	switch {
	case in.Latest.Version < e.BaseVersion:
		return refuse(403, RuleBehindStart, "the lake shows version %d, below %d at the start", in.Latest.Version, e.BaseVersion)
	case (in.Body.TableID != e.TableID || in.Latest.TableID != e.TableID) && !guard.Out(guard.TableIdentity):
		return refuse(403, RuleTableID, "table id %q (was %q), the execution is of %q", in.Body.TableID, in.Latest.TableID, e.TableID)
	case in.Body.UnknownFlags != 0:
		return refuse(403, RuleUnknownFlags, "writer feature flags %#x are unknown", in.Body.UnknownFlags)
	case (!in.Body.MemWAL || !in.Latest.MemWAL) && !guard.Out(guard.MemWALIndex):
		return refuse(403, RuleMemWAL, "the table's MemWAL index is gone")
	case !slices.Contains(operations(e.Kind), in.Body.Operation):
		return refuse(403, RuleOperation, "a %s may not commit %s", e.Kind, in.Body.Operation)
	case in.Body.ReadVersion+1 != in.Name.Version && !guard.Out(guard.RebasedOverAll):
		// Lance writes the newest version that it rebased over into the transaction. A commit that was made for a
		// version after a gap, and waited until somebody filled that, was rebased over nothing that lies in it.
		return refuse(403, RuleDirectSuccess, "version %d was made on version %d, and knows nothing of those between", in.Name.Version, in.Body.ReadVersion)
	}
	raises, v := judgeMarks(e, in)
	if !v.OK() {
		return v
	}
	return judgeDirect(e, landed, attempt, raises, in)
}

// judgeMarks: a commit either leaves the marks of the planned shards exactly as they were at Start, or
// sets all of them exactly to the plan; nobody else's marks move with it.
func judgeMarks(e Execution, in CommitIntent) (raises bool, v Verdict) {
	planned := e.Marks
	for _, p := range e.Plan {
		planned = planned.With(p.Shard, p.Last)
	}
	want, wantPlanned := in.Latest.Marks, in.Latest.Marks
	for _, p := range e.Plan {
		want = want.With(p.Shard, e.Marks.Of(p.Shard))
		wantPlanned = wantPlanned.With(p.Shard, planned.Of(p.Shard))
	}
	if guard.Out(guard.MarksAsPlanned) {
		return len(e.Plan) > 0, Verdict{}
	}
	// What N-1 says of the planned shards must be what it said at Start: a base that was overwritten,
	// restored or merged by somebody else in between is not the one that was planned on (attack
	// overwrite-between).
	if !in.Latest.Marks.Equal(want) {
		return false, refuse(403, RuleMarks, "the base's marks moved since the start: %v, were %v", in.Latest.Marks, e.Marks)
	}
	switch {
	case len(e.Plan) > 0 && in.Body.Marks.Equal(wantPlanned):
		return true, Verdict{}
	case in.Body.Marks.Equal(want):
		return false, Verdict{}
	}
	return false, refuse(403, RuleMarks, "marks %v are neither those before (%v) nor those planned (%v)", in.Body.Marks, want, wantPlanned)
}

// judgeDirect: a commit that may not be rebased follows its read version directly, and the marking
// commit of a pass in two follows the pass's own first one (attacks resurrection, undo-between).
func judgeDirect(e Execution, landed []Version, attempt Attempt, raises bool, in CommitIntent) Verdict {
	if e.Kind != KindMerge && e.Kind != KindSelf || !raises || guard.Out(guard.DirectSuccessor) {
		return Verdict{}
	}
	if len(landed) > 0 {
		if own := landed[len(landed)-1]; in.Name.Version != own+1 || in.Body.ReadVersion != own {
			return refuse(403, RuleDirectSuccess, "the marks must follow this pass's own version %d directly; this is %d, read at %d", own, in.Name.Version, in.Body.ReadVersion)
		}
		return Verdict{}
	}
	if !attempt.Rebasable && in.Name.Version != attempt.Read+1 {
		return refuse(403, RuleDirectSuccess, "this pass read version %d and must follow it directly; this is %d", attempt.Read, in.Name.Version)
	}
	return Verdict{}
}

// operations are those that an execution of this kind may commit.
func operations(k Kind) []Operation {
	switch k {
	case KindMerge, KindSelf:
		return []Operation{OpUpdate, OpDelete}
	case KindCompact:
		return []Operation{OpReserveFragments, OpRewrite, OpCreateIndex}
	case KindIndex:
		return []Operation{OpCreateIndex}
	}
	return nil
}
