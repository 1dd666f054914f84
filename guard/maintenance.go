package guard

// The rules of maintenance (core/maintain.go, core/reclaim.go, core/cleanup.go, core/touch.go).
const (
	MaintenanceFailsAlone Name = "maintenance-fails-alone" // a failed compaction keeps no merge waiting
	MaintenanceGoesOn     Name = "maintenance-goes-on"     // what was not done is asked for again
	IndexRepeatsOnce      Name = "index-repeats-once"      // a conflict with a user's compaction is tried once more
	IndexesCoverFirst     Name = "indexes-cover-first"     // an SSTable stays until every index has taken it in
	ReadersHaveGrace      Name = "readers-have-grace"      // an SSTable stays while a version that needs it may be read
	TagsAreKept           Name = "tags-are-kept"           // an SSTable stays while a tagged version needs it
	CoveredIsDrained      Name = "covered-is-drained"      // only what nobody needs leaves its shard's manifest
	DrainBeforeDelete     Name = "drain-before-delete"     // a directory is deleted once no manifest names it
	DrainReadsMarksBack   Name = "drain-reads-marks-back"  // what the base no longer covers stays
	DrainIsAdmitted       Name = "drain-is-admitted"       // a drain is a commit like any other
	SilentIsLeftAlone     Name = "silent-is-left-alone"    // a worker that starts nothing costs merges no queue limit after the other
	DeletesAreWaitedFor   Name = "deletes-are-waited-for"  // a recovery waits for deletes that may still land

	DeletesGoWithTheirExecution Name = "deletes-go-with-their-execution" // nobody waits again for what was waited for
	DeletesTakeNoSlot           Name = "deletes-take-no-slot"            // a worker that waits for deletes merges other tables
	EachDrainHasItsRounds       Name = "each-drain-has-its-rounds"       // many shards are no contention
	TornTakesNoRoom             Name = "torn-takes-no-room"              // a shard that can't be read leaves others their room
	LostShardIsOver             Name = "lost-shard-is-over"              // a person's word ends the drain of a shard that is nowhere
	OneDirectoryGoes            Name = "one-directory-goes"              // a path that names anything else is never deleted
)
