// Package gate is the S3 endpoint that every write of a worker's lake goes through, so that no commit of an
// execution takes effect without admission (invariant 3).
//
// One virtual bucket, `lake`, shows the lake. Each execution has credentials of its own, so the gate knows
// whose request it sees with unmodified Lance clients. What a credential may do with a key is decided by
// core ([core.Classify], [core.MayWrite], [core.MayDelete]), and so is every commit ([core.JudgeClient], and
// [core.Judge] behind [Authority]). The gate collects the facts: it reads the body whole, looks up the
// newest version in the lake, and sees who has hung up.
//
// How a base manifest gets through:
//
//	body whole → facts → judged and admitted → its turn → put-if-absent → read back if in doubt → answer
//
// A put that is held (admission unknown, or waiting for its turn) is dropped when its sender hangs up or its
// credential is revoked. What went to storage is never taken back: it is waited for until the time limit,
// and then its outcome is unknown.
//
// Storage is the port [lake.Lake], also for reads: the library's own POSIX backend changes the working
// directory of the process, publishes with check-then-rename, and leaves files of its own on a user's lake.
package gate
