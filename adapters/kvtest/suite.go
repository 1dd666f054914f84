// Package kvtest says, as one suite of tests, what every [kv.KV] must do. It uses nothing of a store but
// the port, and expects nothing that etcd could not do.
//
// It has three parts: scenes, one for each sentence of the port's contract; a property test that drives a
// store and a naive reference through the same random steps; and a history of concurrent transactions
// that is checked for linearizability, with transactions of unknown outcome among them.
package kvtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// Harness makes the stores that the suite tries.
type Harness struct {
	// Open returns an empty store that nobody else uses. The suite closes it.
	Open func(t *testing.T) kv.KV
	// Reopen returns what the next process would see of a store that has been closed. Optional; without
	// it nothing is tested that outlives a process.
	Reopen func(t *testing.T, closed kv.KV) kv.KV
}

// Run tries the stores of h.
func Run(t *testing.T, h Harness) {
	scenes := map[string]func(*testing.T, Harness){
		"conditions":          testConditions,
		"all or nothing":      testAllOrNothing,
		"writes":              testWrites,
		"revisions":           testRevisions,
		"invalid is refused":  testInvalid,
		"limits can be used":  testLimits,
		"reads":               testReads,
		"contexts and close":  testEnds,
		"leases":              testLeases,
		"watch":               testWatch,
		"watch is left alone": testWatchEnds,
		"slow watch":          testSlowWatch,
		"same as a reference": testReference,
		"linearizable":        testLinearizable,
	}
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene(t, h)
		})
	}
}

// patience is how long a test waits for what must come. It is only ever used up by a failing test.
const patience = 20 * time.Second

// all covers every key that the suite writes.
var all = core.Prefixed("k/")

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// store is a KV whose errors fail the test.
type store struct {
	kv.KV
	t tester
}

// open returns an empty store that is closed when the test is over.
func (h Harness) open(t *testing.T) store {
	t.Helper()
	return own(t, h.Open(t))
}

// reopened closes a store and returns it as the next process would see it.
func (h Harness) reopened(t *testing.T, s store) store {
	t.Helper()
	s.close()
	return own(t, h.Reopen(t, s.KV))
}

func own(t *testing.T, k kv.KV) store {
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return store{k, t}
}

func (s store) close() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatalf("close: %v", err)
	}
}

func (s store) commit(txn core.Txn) kv.Answer {
	s.t.Helper()
	answer, err := s.Commit(s.t.Context(), txn)
	if err != nil {
		s.t.Fatalf("commit %v: %v", txn, err)
	}
	return answer
}

// write commits operations without conditions and returns the revision.
func (s store) write(ops ...core.Op) core.Revision {
	s.t.Helper()
	answer := s.commit(core.Txn{Name: "write", Then: ops})
	if answer.Outcome != core.Applied {
		s.t.Fatalf("%v: a transaction without conditions was %v", ops, answer.Outcome)
	}
	return answer.Revision
}

func (s store) read(ranges ...core.Range) kv.Snapshot {
	s.t.Helper()
	snapshot, err := s.Read(s.t.Context(), ranges...)
	if err != nil {
		s.t.Fatalf("read %v: %v", ranges, err)
	}
	return snapshot
}

// expect compares a whole range with records.
func (s store) expect(r core.Range, want ...core.Record) {
	s.t.Helper()
	if got := s.read(r).Records; !slices.Equal(got, want) {
		s.t.Errorf("content of %v:\n got %v\nwant %v", r, got, want)
	}
}
