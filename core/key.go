package core

import "fmt"

// Root is the prefix of every key that Sluice writes. A KV whose keys live under a further prefix (one
// etcd for several lakes) adds it outside core.
const Root = "/sluice/v1/"

// A target is one percent-encoded segment of a key, so that no target's key or range is a prefix of
// another's ("db" and "db/events").

// KVKey holds the KV's id, its format and its one lake.
func KVKey() string { return Root + "kv" }

// TableKey holds what adoption knows of a table.
func TableKey(t Target) string { return Root + "table/" + t.segment() }

// OwnerKey is the persistent ownership marker of a table.
func OwnerKey(t Target) string { return Root + "owner/" + t.segment() }

// ExecutionKey holds the current execution of a table.
func ExecutionKey(t Target) string { return Root + "execution/" + t.segment() }

// AdmittedKey holds the watermarks of the current execution.
func AdmittedKey(t Target) string { return Root + "admitted/" + t.segment() }

// ProgressKey holds the counters of the current execution.
func ProgressKey(t Target) string { return Root + "progress/" + t.segment() }

// DemandKey holds the demand for a table.
func DemandKey(t Target) string { return Root + "demand/" + t.segment() }

// FailureKey holds the budget of a (target, endpoint).
func FailureKey(t Target, e Endpoint) string { return failurePrefix(t) + Target(e).segment() }

// FailureRange covers the budgets of one target.
func FailureRange(t Target) Range { return Prefixed(failurePrefix(t)) }

func failurePrefix(t Target) string { return Root + "failure/" + t.segment() + "/" }

// ModeKey holds the latch of a table.
func ModeKey(t Target) string { return Root + "mode/" + t.segment() }

// PolicyKey holds the optional policy document of a table.
func PolicyKey(t Target) string { return Root + "policy/" + t.segment() }

// DeletesKey holds the batch of deletes that is on its way for a table.
func DeletesKey(t Target) string { return Root + "deletes/" + t.segment() }

// ReclaimKey holds the SSTables of a table that are on their way to deletion.
func ReclaimKey(t Target) string { return Root + "reclaim/" + t.segment() }

// HistoryKey holds what became of execution number n; numbers sort as text.
func HistoryKey(t Target, n uint64) string { return fmt.Sprintf("%s%020d", HistoryRange(t).Key, n) }

// HistoryRange covers the history of one target.
func HistoryRange(t Target) Range { return Prefixed(Root + "history/" + t.segment() + "/") }

// TakeoverKey holds what the recovery of execution number n did.
func TakeoverKey(t Target, n uint64) string { return fmt.Sprintf("%s%020d", TakeoverRange(t).Key, n) }

// TakeoverRange covers the takeovers of one target.
func TakeoverRange(t Target) Range { return Prefixed(Root + "takeover/" + t.segment() + "/") }

// MasterKey is the leased registration of a master.
func MasterKey(id string) string { return MasterRange().Key + Target(id).segment() }

// MasterRange covers the registrations of all masters.
func MasterRange() Range { return Prefixed(Root + "master/") }

// WorkerKey is the leased registration of a worker.
func WorkerKey(e Endpoint) string { return WorkerRange().Key + Target(e).segment() }

// WorkerRange covers the registrations of all workers.
func WorkerRange() Range { return Prefixed(Root + "worker/") }

// LoadKey is the leased hint of a worker's room.
func LoadKey(e Endpoint) string { return Root + "load/" + Target(e).segment() }

// Everything covers every key of this format.
func Everything() Range { return Prefixed(Root) }
