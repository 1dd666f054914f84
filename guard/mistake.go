package guard

// Mistakes are small and likely ones, in places where leaving a rule out would not do: each is made where
// [Out] says so, in builds for the simulator's planted bugs alone. sim/planted.txt says what each of them is
// and expects the simulator to find it.
const (
	FenceOneShort           Name = "fence-one-short"
	EarlyWatermarks         Name = "early-watermarks"
	WatermarkNotRaised      Name = "watermark-not-raised"
	ReleaseComparesNothing  Name = "release-compares-nothing"
	ReleaseIgnoresDemand    Name = "release-ignores-demand"
	ReleaseLosesDemand      Name = "release-loses-demand"
	ReserveIgnoresDemand    Name = "reserve-ignores-demand"
	ReserveIgnoresMode      Name = "reserve-ignores-mode"
	PostIgnoresDemand       Name = "post-ignores-demand"
	PostClearsBudget        Name = "post-clears-budget"
	KilledIsFree            Name = "killed-is-free"
	AttentionForgotten      Name = "attention-forgotten"
	DeadlineFromReservation Name = "deadline-from-reservation"
	ExecutionIDReused       Name = "execution-id-reused"
	CancelIsStopped         Name = "cancel-is-stopped"
	EngineGoneIsDone        Name = "engine-gone-is-done"
	GraceIsDone             Name = "grace-is-done"
	DrainDropsRecovery      Name = "drain-drops-recovery"
	StartComparesNothing    Name = "start-compares-nothing"
	FinishComparesNothing   Name = "finish-compares-nothing"
	FailedLookIsFenced      Name = "failed-look-is-fenced"
	UnknownAdmitIsAdmitted  Name = "unknown-admit-is-admitted"
	FailedAdmitIsAdmitted   Name = "failed-admit-is-admitted"
	RecoveredAtFreeze       Name = "recovered-at-freeze"
	PrefixNames             Name = "prefix-names"
)
