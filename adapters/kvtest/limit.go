package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

func testInvalid(t *testing.T, h Harness) {
	s := h.open(t)
	mod := s.write(core.Put("k/a", "1"))
	long := strings.Repeat("k", kv.MaxKeyBytes+1)
	for name, txn := range map[string]core.Txn{
		"two puts of one key":         {Then: []core.Op{core.Put("k/a", "2"), core.Put("k/b", "2"), core.Put("k/a", "3")}},
		"two equal puts of one key":   {Then: []core.Op{core.Put("k/a", "2"), core.Put("k/a", "2")}},
		"put and delete of one key":   {Then: []core.Op{core.Put("k/a", "2"), core.Delete("k/a")}},
		"delete and put of one key":   {Then: []core.Op{core.Delete("k/a"), core.Put("k/a", "2")}},
		"put inside a deleted range":  {Then: []core.Op{core.DeleteAll(all), core.Put("k/new", "2")}},
		"one condition too many":      {If: manyConds(core.MaxTxnOps + 1), Then: []core.Op{core.Put("k/a", "2")}},
		"one operation too many":      {Then: manyPuts(core.MaxTxnOps+1, "2")},
		"a value too large":           {Then: []core.Op{core.Put("k/a", strings.Repeat("v", kv.MaxTxnBytes))}},
		"values too large together":   {Then: manyPuts(4, strings.Repeat("v", kv.MaxTxnBytes/4))},
		"a compared value too large":  {If: []core.Cond{core.Holds("k/a", strings.Repeat("v", kv.MaxTxnBytes))}},
		"a put without a key":         {Then: []core.Op{core.Put("", "2")}},
		"a delete without a key":      {Then: []core.Op{core.Delete("")}},
		"a condition without a key":   {If: []core.Cond{core.Absent("")}},
		"a key too long":              {Then: []core.Op{core.Put(long, "2")}},
		"a compared key too long":     {If: []core.Cond{core.Absent(long)}},
		"a deleted range upside down": {Then: []core.Op{core.DeleteAll(core.Range{Key: "k/b", End: "k/a"})}},
		"a compared range of nothing": {If: []core.Cond{core.RangeUnchanged(core.Range{Key: "k/b", End: "k/b"}, mod)}},
		"a negative revision":         {If: []core.Cond{core.RangeUnchanged(all, -1)}},
		"an unknown condition":        {If: []core.Cond{{Op: 99, Key: "k/a"}}},
		"an unknown operation":        {Then: []core.Op{{Op: 99, Key: "k/a"}}},
	} {
		txn.Name = name
		answer, err := s.Commit(t.Context(), txn)
		if !errors.Is(err, kv.ErrInvalid) || answer.Outcome != core.NotApplied {
			t.Errorf("%s: got %v and error %v, want not applied and %q", name, answer.Outcome, err, kv.ErrInvalid)
		}
	}
	// A condition that fails doesn't make it valid.
	_, err := s.Commit(t.Context(), core.Txn{
		If:   []core.Cond{core.Absent("k/a")},
		Then: []core.Op{core.Put("k/b", "1"), core.Put("k/b", "2")},
	})
	if !errors.Is(err, kv.ErrInvalid) {
		t.Errorf("invalid behind a condition: got error %v", err)
	}
	s.expect(all, core.Record{Key: "k/a", Value: "1", Mod: mod})
	if got := s.read().Revision; got != mod {
		t.Errorf("got revision %d, want still %d", got, mod)
	}
	if _, err := s.Read(t.Context(), all, core.Range{}); !errors.Is(err, kv.ErrInvalid) {
		t.Errorf("read of a range without a key: got error %v", err)
	}
}

func testLimits(t *testing.T, h Harness) {
	s := h.open(t)
	mod := s.commit(core.Txn{
		Name: "many", If: manyConds(core.MaxTxnOps), Then: manyPuts(core.MaxTxnOps, "1"),
	}).Revision
	got := s.read(all)
	if len(got.Records) != core.MaxTxnOps || got.Records[core.MaxTxnOps-1].Mod != mod {
		t.Errorf("got %d records at %d, want %d at %d", len(got.Records), got.Revision, core.MaxTxnOps, mod)
	}
	large := strings.Repeat("v", kv.MaxTxnBytes-kv.TxnOverhead-len("k/large"))
	mod = s.write(core.Put("k/large", large))
	s.expect(core.Range{Key: "k/large"}, core.Record{Key: "k/large", Value: large, Mod: mod})
	long := "k/" + strings.Repeat("k", kv.MaxKeyBytes-2)
	mod = s.write(core.Put(long, "1"))
	s.expect(core.Range{Key: long}, core.Record{Key: long, Value: "1", Mod: mod})
	// A range delete is one operation however many keys it takes.
	s.write(core.DeleteAll(all))
	s.expect(all)
}

func manyConds(n int) []core.Cond {
	conds := make([]core.Cond, n)
	for i := range conds {
		conds[i] = core.Absent(fmt.Sprintf("k/%03d", i))
	}
	return conds
}

func manyPuts(n int, value string) []core.Op {
	ops := make([]core.Op, n)
	for i := range ops {
		ops[i] = core.Put(fmt.Sprintf("k/%03d", i), value)
	}
	return ops
}

func testEnds(t *testing.T, h Harness) {
	s := h.open(t)
	mod := s.write(core.Put("k/a", "1"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if answer, err := s.Commit(over, core.Txn{Then: []core.Op{core.Put("k/a", "2")}}); !errors.Is(err, context.Canceled) || answer.Outcome != core.Unknown {
		t.Errorf("commit with a cancelled context: got %v and error %v", answer.Outcome, err)
	}
	if _, err := s.Read(over, all); !errors.Is(err, context.Canceled) {
		t.Errorf("read with a cancelled context: got error %v", err)
	}
	s.expect(all, core.Record{Key: "k/a", Value: "1", Mod: mod})

	s.close()
	s.close() // closing twice is closing once
	if answer, err := s.Commit(t.Context(), core.Txn{Then: []core.Op{core.Put("k/a", "2")}}); !errors.Is(err, kv.ErrClosed) || answer.Outcome != core.NotApplied {
		t.Errorf("commit after close: got %v and error %v", answer.Outcome, err)
	}
	if _, err := s.Read(t.Context(), all); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("read after close: got error %v", err)
	}
	if batch, open := <-s.Watch(t.Context(), all, mod); open {
		t.Errorf("watch after close: got %v", batch)
	}
	if h.Reopen != nil {
		s = h.reopened(t, s)
		s.expect(all, core.Record{Key: "k/a", Value: "1", Mod: mod})
	}
}
