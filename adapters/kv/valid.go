package kv

import (
	"fmt"

	"github.com/sluice-data/sluice/core"
)

// The limits of a transaction. They are etcd's, so that what one store takes, every store takes; core
// adds [core.MaxTxnOps].
const (
	// MaxTxnBytes bounds all keys and values of one transaction together, conditions too, with
	// [TxnOverhead] for each condition and operation: etcd's limit of one request.
	MaxTxnBytes = 3 << 19
	// TxnOverhead is what one condition or operation is counted for besides its keys and values.
	TxnOverhead = 64
	// MaxKeyBytes bounds one key.
	MaxKeyBytes = 8 << 10
)

// Check reports as [ErrInvalid] a transaction that no store may apply: one over a limit, with an empty
// key or a range without room for one, or with two operations that write one key. Two deletes of one key
// are not a conflict: their order doesn't matter. Every store calls it before anything else.
func Check(t core.Txn) error {
	if n := max(len(t.If), len(t.Then)); n > core.MaxTxnOps {
		return fmt.Errorf("%w: %d conditions or operations, at most %d are allowed", ErrInvalid, n, core.MaxTxnOps)
	}
	size := 0
	for _, c := range t.If {
		if err := checkCond(c); err != nil {
			return err
		}
		size += TxnOverhead + len(c.Key) + len(c.End) + len(c.Value)
	}
	for _, o := range t.Then {
		if err := checkOp(o); err != nil {
			return err
		}
		size += TxnOverhead + len(o.Key) + len(o.End) + len(o.Value)
	}
	if size > MaxTxnBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrInvalid, size, MaxTxnBytes)
	}
	return checkConflicts(t.Then)
}

// CheckRange reports as [ErrInvalid] a range that no key can lie in.
func CheckRange(r core.Range) error {
	if err := checkKey(r.Key); err != nil {
		return err
	}
	if r.End != "" && r.End <= r.Key {
		return fmt.Errorf("%w: the range [%q, %q) is empty", ErrInvalid, r.Key, r.End)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes {
		return fmt.Errorf("%w: a key has 1 to %d bytes, not %d", ErrInvalid, MaxKeyBytes, len(key))
	}
	return nil
}

func checkCond(c core.Cond) error {
	if c.Rev < 0 {
		return fmt.Errorf("%w: condition on %s at revision %d", ErrInvalid, c.Key, c.Rev)
	}
	switch c.Op {
	case core.CondHolds, core.CondAbsent, core.CondUnchanged:
		return checkKey(c.Key)
	case core.CondRangeUnchanged:
		return CheckRange(core.Range{Key: c.Key, End: c.End})
	}
	return fmt.Errorf("%w: unknown condition %d on %s", ErrInvalid, c.Op, c.Key)
}

func checkOp(o core.Op) error {
	switch o.Op {
	case core.OpPut, core.OpDeleteKey:
		return checkKey(o.Key)
	case core.OpDeleteRange:
		return CheckRange(core.Range{Key: o.Key, End: o.End})
	}
	return fmt.Errorf("%w: unknown operation %d on %s", ErrInvalid, o.Op, o.Key)
}

// checkConflicts keeps the outcome of a transaction independent of the order of its operations.
func checkConflicts(ops []core.Op) error {
	puts := make(map[string]bool, len(ops))
	for _, o := range ops {
		if o.Op != core.OpPut {
			continue
		}
		if puts[o.Key] {
			return fmt.Errorf("%w: two operations put %s", ErrInvalid, o.Key)
		}
		puts[o.Key] = true
	}
	for _, o := range ops {
		if o.Op == core.OpPut {
			continue
		}
		deleted := Deleted(o)
		for key := range puts {
			if deleted.Contains(key) {
				return fmt.Errorf("%w: %s is put and deleted", ErrInvalid, key)
			}
		}
	}
	return nil
}

// Deleted is the range that a delete covers: of [core.OpDeleteKey] the one key.
func Deleted(o core.Op) core.Range {
	if o.Op == core.OpDeleteKey {
		return core.Range{Key: o.Key}
	}
	return core.Range{Key: o.Key, End: o.End}
}
