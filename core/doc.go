// Package core is the protocol of Sluice: pure state machines that decide, and nothing that acts.
//
// # The problem
//
// A Lance table with a MemWAL collects flushed SSTables beside its base. Somebody has to merge them, and
// nobody may do it twice at once: a merge that stalls, is given up and commits late would land on top of
// newer data. Storage offers one primitive against that, put-if-absent of the next manifest, and a clock
// is no help, because no process knows how long another one sleeps.
//
// # The protocol
//
// Each table has one owner record in a linearizable KV. It has no lease: it outlives every process, and it
// changes hands in one way only. An execution (one attempt to run one job on one worker) goes
//
//	Reserved → Running → Finished | Uncertain
//	any of these but Finished → Recovering → Recovered
//	Finished and Recovered → released
//
// and these seven transactions move it, each a pure function in transaction.go and release.go:
//
//	Reserve         a master, or in direct mode the worker itself, makes it the table's one execution
//	Start           the worker takes it over: from here its record doesn't change
//	Admit           one commit of one version may proceed; the watermark records it
//	Finish          the worker says that it is over, and whether every commit has a definite result
//	Freeze          closes admission: the record changes, so every later Admit fails
//	FinishRecovery  every admitted version is occupied: nothing of it can land any more
//	Release         gives the table back, with the budget, the demand and the history, in one step
//
// Between Freeze and FinishRecovery lie the fences (fence.go): commits that change no row and take the
// admitted versions that are still free, so that a commit that was sent long ago meets an existing file.
// Whether a merge succeeded is read from the base's marks, never taken from a report.
//
// # The machines
//
// [Master] and [Worker] are event driven: Step(moment, event) returns effects. Time, chance and every
// answer come in with the event; effects are values that the driver, or the simulator, carries out. An
// effect's answer carries its id and is applied, not applied or unknown; unknown is resolved by reading
// the records again. A [settlement] is the part that both machines share: it takes an execution from any
// phase to its Release, and may be run by anybody, any number of times, also at once.
//
// # Scheduling
//
// Nobody leads. What is pending becomes demand (look.go, trigger.go), once for all that is asked; it is shared
// out among the workers that write it and the others, who have their turns (fanout.go); masters claim the
// oldest first, for a worker that advertises a free slot and room for it (claim.go, load.go). A
// table that nobody owns is merged by the worker that writes it (self.go): the same execution, scheduled by
// the worker, recovered by any other once it is gone (orphan.go). A failure is remembered with what it
// teaches: how long to wait (budget.go) and for which shards, whoever has them by then (touch.go), which shard
// to leave out, which half to try next and how much of it (suspect.go). A master that can't see the lake blames
// nobody (blind.go). Why a target waits is one pure function (why.go), and so is the verdict on one that runs
// (pulse.go).
//
// # Maintenance
//
// Compaction, indexing and cleanup are executions like merges, with budgets and turns of their own, asked for by a
// request or a table's policy (maintain.go). What nobody needs any more is decided from the versions, tags and
// indexes of the table (reclaim.go): written down first, drained from its shard's manifest as an admitted commit,
// and only then deleted, each step on a fresh look (cleanup.go).
//
// # Operators
//
// A table's mode, its policy, and the failures of an endpoint are what an operator has a say in (operate.go). A
// master judges each wish by a look at the records, writes it by a transaction that compares them, and answers
// what is in the way (wish.go).
//
// # Invariants
//
//  1. At most one execution of a target can have a commit admitted at a time.
//  2. After Recovered, no commit admitted by that execution can take effect (be in the head's history).
//  3. A commit of an execution takes effect only if it was admitted, and only by that execution; a fence
//     takes only an admitted number and changes no row. Commits of clients are ordinary Lance writers that
//     win or lose by put-if-absent.
//  4. No row is lost, duplicated or rolled back: the LSM view before a merge equals the view after it,
//     for every interleaving.
//  5. Budgets never go down except by that (target, endpoint)'s own success; reads, demand, restarts, new
//     names and recreated tables leave them alone. An operator may have one forgotten (operate.go), and nobody else.
//  6. An owned or draining target never runs an unowned merge. Draining admits nothing new and still
//     recovers what is there.
//  7. Heartbeats never extend a deadline; only completed work does.
//  8. With faults over and storage and KV up, every pending generation of an eligible shard is merged
//     within a bounded time; one bad shard, worker or master does not stop the others.
//  9. KV down: no new admission, ingestion goes on, already admitted commits may finish.
//  10. Missing or unreadable data never causes a delete; nothing is deleted for not being listed.
//
// # Reading order
//
// name, record, txn, key; transaction, release; admission, fence, adoption; worker, job, commit, job_end;
// master, turns, look, fanout, claim, watch, settle, barrier; pass, policy, budget, touch, suspect; load, self, orphan; why, pulse;
// maintain, reclaim, cleanup; operate, wish.
package core
