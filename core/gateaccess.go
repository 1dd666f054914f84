package core

import "github.com/sluice-data/sluice/guard"

// CallerClass says whose credential signs a request at the gate.
type CallerClass string

// The classes of credentials.
const (
	ClassExecution CallerClass = "execution" // the engine of one execution; made for it and revoked with it
	ClassIngest    CallerClass = "ingest"    // a worker's own writer of one shard
	ClassClient    CallerClass = "client"    // a user's own program
	ClassReader    CallerClass = "reader"    // reads only
)

// Caller is what a credential stands for.
type Caller struct {
	Class CallerClass
	// Execution is set for ClassExecution.
	Execution ExecutionID
	// Target bounds ClassExecution and ClassIngest to one table, Shard bounds ClassIngest to one shard.
	Target Target
	Shard  ShardID
}

// The rules of access, in addition to those of admission.
const (
	RuleMalformed   Rule = "malformed-key"      // one object has one key
	RuleHidden      Rule = "sluice-hidden"      // nobody sees _sluice/
	RuleOtherTable  Rule = "other-table"        // an execution and an ingest writer have one table
	RuleReadOnly    Rule = "read-only"          // a reader writes nothing
	RulePlace       Rule = "place"              // a class writes only what it needs to
	RuleCondition   Rule = "if-none-match-only" // versions are published by a conditional put only
	RuleWhole       Rule = "multipart-manifest" // and only by one PutObject
	RuleNewNames    Rule = "new-names-only"     // files never change
	RuleNoDelete    Rule = "no-delete"          // nobody but clients and our own cleanup deletes
	RuleInUse       Rule = "table-in-use"       // a client may not delete what a running execution builds on
	RuleRevoked     Rule = "revoked"            // the credential was revoked while the request was held
	RuleHungUp      Rule = "hold-hung-up"       // the sender was gone before the request went on
	RuleReadBack    Rule = "read-back"          // a conflict that could not be read back is no conflict
	RuleUnreadable  Rule = "unreadable-body"    // a manifest that can't be read
	RuleHeldTooLong Rule = "held-too-long"      // the limit on holding ran out
)

// WriteHow says how an allowed write goes to the lake.
type WriteHow uint8

// The ways to write.
const (
	// WriteCommit: the next version of a table, put only if absent after admission.
	WriteCommit WriteHow = iota + 1
	// WriteIfAbsent: put only if absent; 412 once the key has been read back as present.
	WriteIfAbsent
	// WriteNew: put only if absent; a repeat with the same bytes succeeds, any other is refused.
	WriteNew
	// WriteOwnTransaction: as WriteNew, but the execution that made it may rewrite it until its commit
	// has landed.
	WriteOwnTransaction
	// WritePlain: put, over what is there.
	WritePlain
)

// Write is the form of a write.
type Write struct {
	// Conditional says that the request carries If-None-Match: *.
	Conditional bool
	// Whole says that it is one PutObject, not a multipart upload and not a copy.
	Whole bool
}

// MayRead judges a read of one key.
func MayRead(c Caller, k Key) Verdict {
	if v := reachable(k); !v.OK() {
		return v
	}
	return ownTable(c, k)
}

// MayList judges a listing of the keys with a prefix: those who have one table see that table only.
func MayList(c Caller, prefix string) Verdict {
	if c.Class != ClassExecution && c.Class != ClassIngest {
		return Verdict{}
	}
	// The rest of the path does not matter: only which table the prefix lies in.
	if k := Classify(prefix + "x"); k.Kind == KeyMalformed || k.Target != c.Target {
		return refuse(403, RuleOtherTable, "%s lists only its own table %s", c.Class, c.Target)
	}
	return Verdict{}
}

// MayWrite judges a write of one key by form alone, and says how it goes to the lake.
func MayWrite(c Caller, k Key, w Write) (WriteHow, Verdict) {
	if v := reachable(k); !v.OK() {
		return 0, v
	}
	if c.Class == ClassReader {
		return 0, refuse(403, RuleReadOnly, "a reader writes nothing")
	}
	if v := ownTable(c, k); !v.OK() {
		return 0, v
	}
	if k.Kind.Publishes() {
		if v := mayPublish(k, w); !v.OK() {
			return 0, v
		}
	}
	switch c.Class {
	case ClassExecution:
		return executionWrites(k)
	case ClassIngest:
		return ingestWrites(c, k, w)
	case ClassClient:
		return clientWrites(k, w), Verdict{}
	}
	return 0, refuse(403, RulePlace, "unknown class %q", c.Class)
}

// mayPublish: a version is published by one conditional PutObject, whoever asks. Without the condition
// it would overwrite (attack plain-put); a multipart upload or a copy shows its body too late to be
// judged (attack multipart-manifest).
func mayPublish(k Key, w Write) Verdict {
	if !w.Whole && !guard.Out(guard.MultipartManifest) {
		return refuse(403, RuleWhole, "a %s is put by one PutObject, not by parts or by a copy", k.Kind)
	}
	if !w.Conditional && !guard.Out(guard.IfNoneMatchOnly) {
		return refuse(403, RuleCondition, "a %s is put with If-None-Match: * only", k.Kind)
	}
	return Verdict{}
}

func executionWrites(k Key) (WriteHow, Verdict) {
	switch k.Kind {
	case KeyBaseManifest:
		return WriteCommit, Verdict{}
	case KeyData:
		return WriteNew, Verdict{}
	case KeyTransaction:
		return WriteOwnTransaction, Verdict{}
	}
	return 0, refuse(403, RulePlace, "an execution writes no %s", k.Kind)
}

func ingestWrites(c Caller, k Key, w Write) (WriteHow, Verdict) {
	if k.Shard != c.Shard {
		return 0, refuse(403, RulePlace, "its writer writes shard %s only", c.Shard)
	}
	switch k.Kind {
	case KeyShardHint:
		return WritePlain, Verdict{}
	case KeyShardManifest, KeySSTableManifest:
		return WriteIfAbsent, Verdict{}
	case KeyWAL:
		if !w.Conditional {
			return 0, refuse(403, RuleCondition, "a WAL entry is put with If-None-Match: * only")
		}
		return WriteIfAbsent, Verdict{}
	}
	return WriteNew, Verdict{}
}

func clientWrites(k Key, w Write) WriteHow {
	switch {
	case k.Kind == KeyBaseManifest:
		return WriteCommit
	case w.Conditional:
		return WriteIfAbsent
	}
	return WritePlain
}

// Watched is what is known of a table's unreleased execution.
type Watched struct {
	Running bool
	// From is the base version that the execution saw at Start.
	From Version
	// Made says that the execution wrote the key in question.
	Made bool
	// Head is the table's latest version, read from the lake.
	Head Version
}

// MayDelete judges a delete. An execution has none at all: a Lance client that believes in a conflict
// deletes its own data files, and it may be wrong (attack early-conflict). A client may not take away
// what a running execution builds on: a table is dropped after draining.
func MayDelete(c Caller, k Key, w Watched) Verdict {
	if v := reachable(k); !v.OK() {
		return v
	}
	if c.Class != ClassClient {
		if guard.Out(guard.NoDelete) {
			return Verdict{}
		}
		return refuse(403, RuleNoDelete, "%s deletes nothing", c.Class)
	}
	if !w.Running || guard.Out(guard.TableInUse) {
		return Verdict{}
	}
	switch {
	case w.Made:
		return refuse(403, RuleInUse, "an execution of %s made it; drain the table first", k.Target)
	case k.Kind == KeyBaseManifest && (k.Manifest.Version >= w.From || k.Manifest.Version == w.Head):
		return refuse(403, RuleInUse, "an execution of %s builds on version %d; drain the table first", k.Target, k.Manifest.Version)
	}
	return Verdict{}
}

// reachable holds for every credential.
func reachable(k Key) Verdict {
	switch {
	case k.Kind == KeyMalformed:
		return refuse(403, RuleMalformed, "the key is not canonical")
	case k.Kind == KeySluice && !guard.Out(guard.SluiceHidden):
		return refuse(403, RuleHidden, "_sluice/ is not for clients")
	}
	return Verdict{}
}

func ownTable(c Caller, k Key) Verdict {
	if (c.Class == ClassExecution || c.Class == ClassIngest) && k.Target != c.Target {
		return refuse(403, RuleOtherTable, "%s has only its own table %s", c.Class, c.Target)
	}
	return Verdict{}
}
