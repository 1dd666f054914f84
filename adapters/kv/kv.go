// Package kv is the port through which the protocol's records are kept: a linearizable store with
// revisions, compare-and-swap transactions, ranges, watches and keys that end with the process that
// wrote them. adapters/bolt and adapters/etcd implement it; adapters/kvtest says, as one suite, what both
// must do.
package kv

import (
	"context"
	"errors"

	"github.com/sluice-data/sluice/core"
)

// KV is one store. All methods may be called concurrently.
type KV interface {
	// Commit applies a transaction: [core.Applied] with the revision it made, or [core.NotApplied]
	// with the revision at which a condition failed. With an error the outcome is [core.Unknown],
	// unless the error is [ErrInvalid] or [ErrClosed]: then it was not applied. An applied transaction
	// without any effective write leaves the revision where it is.
	Commit(ctx context.Context, t core.Txn) (Answer, error)

	// Read returns all records of the ranges at one revision, sorted by key, each once. It is
	// linearizable: it sees every transaction that was answered before it was called.
	Read(ctx context.Context, ranges ...core.Range) (Snapshot, error)

	// Watch delivers every change of the range after revision from, in order, until ctx ends; then the
	// channel is closed. Where the store can no longer tell the changes since from, the first batch
	// is a whole new snapshot (Reset). A slow reader loses nothing: it may be sent such a snapshot.
	// A watch of [core.Everything] may leave out the past ([core.Past]).
	Watch(ctx context.Context, r core.Range, from core.Revision) <-chan Batch

	// Close ends the store and everything that this process leased in it.
	Close() error
}

// Answer is what became of a transaction.
type Answer struct {
	Outcome  core.Outcome
	Revision core.Revision
}

// Snapshot is the content of some ranges at one revision.
type Snapshot struct {
	Revision core.Revision
	Records  []core.Record
}

// Batch is what changed between two revisions.
type Batch struct {
	// Revision is that of the last change in the batch.
	Revision core.Revision
	// Reset says that Puts is the whole content of the range, replacing everything known before.
	Reset bool
	Puts  []core.Record
	// Deletes are the keys that went away.
	Deletes []string
}

var (
	// ErrClosed says that the store was closed before the call.
	ErrClosed = errors.New("the KV is closed")
	// ErrInvalid says that a transaction can never be applied: it is over a limit, or two of its
	// operations write one key.
	ErrInvalid = errors.New("the transaction is not valid")
)
