package guard

// Name names a rule that `make guards` can take out. Each has a line in rules.txt with the test that
// must fail without it.
type Name string

// The rules of admission (core/admission.go).
const (
	NamingScheme    Name = "naming-scheme"    // a manifest in the other naming scheme is refused
	NextOnly        Name = "next-only"        // only latest + 1 may be put
	BodyVersion     Name = "body-version"     // a manifest's body says what its name says
	ForeignMarks    Name = "foreign-marks"    // a client may not raise marks on an owned table
	TableIdentity   Name = "table-identity"   // a commit carries the table id from Start
	MemWALIndex     Name = "mem-wal-index"    // a commit keeps the MemWAL index
	MarksAsPlanned  Name = "marks-as-planned" // marks are those before or those planned
	DirectSuccessor Name = "direct-successor" // tombstones follow the read version directly
	RebasedOverAll  Name = "rebased-over-all" // a commit was made on the version before its own
)

// The rules of storage (adapters/lake, adapters/lance).
const (
	PutIfAbsent         Name = "put-if-absent"          // a manifest is published by link(2), never by rename
	LakeClaim           Name = "lake-claim"             // a lake that belongs to another KV is refused
	LakeProbesAtOnce    Name = "lake-probes-at-once"    // a lake is probed with puts at the same moment too
	NumberTaken         Name = "number-taken"           // an execution number of another execution is refused
	FenceUnknownFlags   Name = "fence-unknown-flags"    // a manifest with unknown writer flags is not fenced
	FenceTableID        Name = "fence-table-id"         // a fence takes only the table that it was meant for
	FenceDirection      Name = "fence-direction"        // a lake that went back is not fenced
	FenceTransaction    Name = "fence-transaction"      // a fence carries an inline transaction to rebase across
	HintIsNotTruth      Name = "hint-is-not-truth"      // the newest version comes from a listing alone
	IOErrorIsNotAbsent  Name = "io-error-is-not-absent" // a listing that failed says nothing about versions
	MixedSchemes        Name = "mixed-schemes"          // a table with both naming schemes is refused
	BodyNamesItsVersion Name = "body-names-its-version" // a manifest is read only if its body says its name's version
)

// The rules of the transactions (core/transaction.go).
const (
	ReserveNoOwner         Name = "reserve-no-owner"          // Reserve compares that nobody owns the table
	AdmitRunning           Name = "admit-running"             // Admit compares the running execution
	UncertainIsNotFinished Name = "uncertain-is-not-finished" // an unknown commit ends as Uncertain
	ReleaseCharges         Name = "release-charges"           // a failure is charged in Release
	FreezeComparesRecord   Name = "freeze-compares-record"    // Freeze compares the record that it judged, phase included
	FreezeComparesProgress Name = "freeze-compares-progress"  // Freeze for no progress compares the progress
	MarksDecide            Name = "marks-decide"              // the base's marks say what has been merged, not a report
)

// The rules of the KV (adapters/bolt).
const (
	CondHolds     Name = "cond-holds"     // a key must have the value that was compared
	CondAbsent    Name = "cond-absent"    // a key that must not exist doesn't
	CondUnchanged Name = "cond-unchanged" // a key was last written at the revision compared
	CondRange     Name = "cond-range"     // nothing in a range was written after a revision
	LeasesEnd     Name = "leases-end"     // leased keys go with the process that wrote them
)

// The rules of the gate (core/gatekey.go, core/gateaccess.go, adapters/gate).
const (
	EncodedKey        Name = "encoded-key"          // a key that means something else once decoded again is refused
	MultipartManifest Name = "multipart-manifest"   // a version is never put by parts or by a copy
	IfNoneMatchOnly   Name = "if-none-match-only"   // a version is never put without If-None-Match
	NewNamesOnly      Name = "new-names-only"       // an execution never changes a file that is there
	NoDelete          Name = "no-delete"            // an execution deletes nothing
	TableInUse        Name = "table-in-use"         // a client does not delete what an execution builds on
	SluiceHidden      Name = "sluice-hidden"        // no client sees _sluice/
	OneTurn           Name = "one-turn"             // one put of a key at a time goes to storage
	ReadBackBefore412 Name = "read-back-before-412" // a conflict is answered only once it is read back as present
	HoldHungUp        Name = "hold-hung-up"         // a held put is dropped once its sender is gone
	GateEndsTogether  Name = "gate-ends-together"   // behind TLS a sender that is gone is seen to be gone
	HoldRevoked       Name = "revoked"              // a held put is dropped once its credential is revoked
	TransactionFrozen Name = "transaction-frozen"   // a transaction file that a landed commit names never changes
)

// The rules of adoption and recovery (core/adoption.go, core/settle.go).
const (
	LakeKnowsMore          Name = "lake-knows-more"         // executions that only the lake knows close the table
	FenceToWatermark       Name = "fence-to-watermark"      // every admitted version is occupied
	AdoptionConfirmed      Name = "adoption-confirmed"      // an id is written only while the KV says that it is the table's
	AdoptionOverwritesID   Name = "adoption-overwrites-id"  // adoption writes a new id over one that is there
	ContradictionConfirmed Name = "contradiction-confirmed" // a lake is said to contradict the KV only by a record that has not changed
)

// The rules of scheduling and watching (core/claim.go, core/watch.go, core/job_end.go, core/pass.go, core/budget.go).
const (
	HeartbeatIsNotProgress    Name = "heartbeat-is-not-progress"    // a report that adds nothing extends nothing
	ProbesAloneRecoverNothing Name = "probes-alone-recover-nothing" // a master that can't reach a working worker leaves it alone
	SleepIsNoEvidence         Name = "sleep-is-no-evidence"         // a master's own sleep is nobody's lack of progress
	StartAnswersNothing       Name = "start-answers-nothing"        // the answer to a start does not say that a worker knows nothing
	NoGenerationGap           Name = "no-generation-gap"            // a pass takes no generation after a missing one
	FailedWorkersLast         Name = "failed-workers-last"          // a worker on which a target has failed is chosen last
	SilentComesLast           Name = "silent-comes-last"            // a worker that did not even begin is chosen after those that failed
	WritersFirst              Name = "writers-first"                // what a live worker writes goes to that worker and its budget
	HealthyEndpointsFirst     Name = "healthy-endpoints-first"      // a failed endpoint lets the healthy ones go first
	FailedWritersArePassedBy  Name = "failed-writers-passed-by"     // a writer that fails again and again does not keep its shards
	DrainedWritersArePassedBy Name = "drained-writers-passed-by"    // a writer that takes nothing new does not keep its shards
	BusyWritersArePassedBy    Name = "busy-writers-passed-by"       // a writer without room is waited for a bounded time
	NewNamesKeepWait          Name = "new-names-keep-wait"          // a shard that changes endpoints keeps its wait and its row of failures
	BlindMasterChargesNobody  Name = "blind-master-charges-nobody"  // a master's failed look is charged to nobody
	BadShardWaitsAlone        Name = "bad-shard-waits-alone"        // a bad shard keeps no other waiting
	GoodShardsAreForgiven     Name = "good-shards-are-forgiven"     // a success beside a bad shard ends the row of failures of the others
	MemoryIsRemembered        Name = "memory-is-remembered"         // a pass that ran out of memory bounds those after it
	FailedPassIsHalved        Name = "failed-pass-is-halved"        // a pass that failed without a culprit is halved by shard
	HintIsKeptTrue            Name = "hint-is-kept-true"            // a worker's hint that stands otherwise than it wrote it is written again
	OneOfManyIsSuspected      Name = "one-of-many-is-suspected"     // a shard whose pass had room for no other one waits alone when it fails
	RoomIsAdvertised          Name = "room-is-advertised"           // a table is reserved only for a worker with a free slot and bytes
	SelfMergeIsDirect         Name = "self-merge-is-direct"         // a worker merges a table itself only in direct mode
	DemandHasAThreshold       Name = "demand-has-a-threshold"       // less than is worth a merge is not asked for
	BeginningEndsQueue        Name = "beginning-ends-queue"         // an execution that began ends the row of reservations that nobody started
	LostHurryIsOver           Name = "lost-hurry-is-over"           // a reservation that did not wait counts as made where only later ones are seen
	QueueLimitBacksOff        Name = "queue-limit-backs-off"        // a reservation that nobody starts is not made again at once
	LongWaitIsServed          Name = "long-wait-is-served"          // a worker is kept free for what has waited long for room
	TooLargeIsLeftOut         Name = "too-large-is-left-out"        // an SSTable that no worker can take stops only its shard
)

// The rules of the merge (adapters/engine/python/sluice_engine).
const (
	TombstonesOneCommit Name = "tombstones-one-commit" // rows and tombstones of a pass land in one commit
	NewestWins          Name = "newest-wins"           // of two rows with one key the later one counts
	TwoShardsOneKey     Name = "two-shards-one-key"    // a key in two shards ends the pass with nothing published
)

// The rules of the HTTP API (adapters/rest).
const (
	RestHost        Name = "rest-host"        // a request that names another host than the loopback is refused
	RestCertificate Name = "rest-certificate" // a certificate shows the role that it names and no higher one
)

// The rules of etcd (adapters/etcd).
const (
	EtcdConditions Name = "etcd-conditions" // a transaction carries its conditions to etcd
	EtcdLeaseAnew  Name = "etcd-lease-anew" // a lease that was lost is made anew
	EtcdWentBack   Name = "etcd-went-back"  // an etcd whose revision goes back is another one
)
