package core

import (
	"fmt"
	"strings"
)

// Txn is one atomic step of the KV: if every condition holds, every operation takes effect at one new
// revision, otherwise none does. It stays under [MaxTxnOps] whatever the number of shards, so that etcd
// takes it whole.
type Txn struct {
	// Name is the protocol's name of the step, for logs and traces; it decides nothing.
	Name string
	If   []Cond
	Then []Op
}

// MaxTxnOps bounds the conditions, and separately the operations, of one transaction (etcd's default).
const MaxTxnOps = 128

// Cond is one comparison in a transaction: [Holds], [Absent], [Unchanged] or [RangeUnchanged].
type Cond struct {
	Op    CondOp
	Key   string
	End   string   // exclusive end of the range, for CondRangeUnchanged
	Value string   // for CondHolds
	Rev   Revision // for CondUnchanged and CondRangeUnchanged
}

// CondOp says what a [Cond] compares.
type CondOp uint8

// The comparisons. Each of them is a single compare of etcd.
const (
	// CondHolds: the key exists and its value is exactly Value.
	CondHolds CondOp = iota + 1
	// CondAbsent: the key does not exist.
	CondAbsent
	// CondUnchanged: the revision that last wrote the key is Rev; 0 means that it does not exist.
	CondUnchanged
	// CondRangeUnchanged: no key in [Key, End) was written after revision Rev. NB: it does not see a
	// key that went away; compare each key that must still be there by CondUnchanged.
	CondRangeUnchanged
)

// Op is one write of a transaction: [Put], [Delete] or [DeleteRange].
type Op struct {
	Op    OpKind
	Key   string
	End   string // exclusive, for OpDeleteRange
	Value string
	// Leased ties the key to the writing process's own lease: it goes when that process goes.
	Leased bool
}

// OpKind says what an [Op] does.
type OpKind uint8

// The writes.
const (
	OpPut OpKind = iota + 1
	OpDeleteKey
	OpDeleteRange
)

// Holds compares a key's value.
func Holds(key, value string) Cond { return Cond{Op: CondHolds, Key: key, Value: value} }

// Absent demands that a key does not exist.
func Absent(key string) Cond { return Cond{Op: CondAbsent, Key: key} }

// Unchanged demands that a key was last written at rev (0: that it does not exist).
func Unchanged(key string, rev Revision) Cond { return Cond{Op: CondUnchanged, Key: key, Rev: rev} }

// RangeUnchanged demands that nothing in the range was written after rev.
func RangeUnchanged(r Range, rev Revision) Cond {
	return Cond{Op: CondRangeUnchanged, Key: r.Key, End: r.End, Rev: rev}
}

// Put writes a key.
func Put(key, value string) Op { return Op{Op: OpPut, Key: key, Value: value} }

// PutLeased writes a key that goes away with the writing process.
func PutLeased(key, value string) Op { return Op{Op: OpPut, Key: key, Value: value, Leased: true} }

// Delete removes a key; one that isn't there is no error.
func Delete(key string) Op { return Op{Op: OpDeleteKey, Key: key} }

// DeleteAll removes every key of a range.
func DeleteAll(r Range) Op { return Op{Op: OpDeleteRange, Key: r.Key, End: r.End} }

// Range is the half-open interval of keys [Key, End). An empty End means the one key.
type Range struct{ Key, End string }

// Prefixed is the range of all keys that start with p.
func Prefixed(p string) Range {
	end := []byte(p)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return Range{p, string(end[:i+1])}
		}
	}
	panic("a prefix of 0xff bytes has no end: " + p)
}

// Contains reports whether the key lies in the range.
func (r Range) Contains(key string) bool {
	if r.End == "" {
		return key == r.Key
	}
	return r.Key <= key && key < r.End
}

// Record is a key with its value, as the KV holds it.
type Record struct {
	Key   string
	Value string
	// Mod is the revision that last wrote the key.
	Mod Revision
}

// Outcome is what is known of a transaction, a fence or a commit once somebody has answered, or nobody
// has.
type Outcome uint8

// The outcomes. Unknown is resolved by reading, never guessed.
const (
	Unknown Outcome = iota
	Applied
	NotApplied
)

func (o Outcome) String() string {
	switch o {
	case Applied:
		return "applied"
	case NotApplied:
		return "not applied"
	}
	return "unknown"
}

func (t Txn) String() string {
	var b strings.Builder
	b.WriteString(t.Name + " if")
	for _, c := range t.If {
		switch c.Op {
		case CondHolds:
			fmt.Fprintf(&b, " %s=%s", c.Key, c.Value)
		case CondAbsent:
			fmt.Fprintf(&b, " !%s", c.Key)
		case CondUnchanged:
			fmt.Fprintf(&b, " %s@%d", c.Key, c.Rev)
		case CondRangeUnchanged:
			fmt.Fprintf(&b, " [%s..%s)≤%d", c.Key, c.End, c.Rev)
		}
	}
	b.WriteString(" then")
	for _, o := range t.Then {
		switch o.Op {
		case OpPut:
			fmt.Fprintf(&b, " %s:=%s", o.Key, o.Value)
		case OpDeleteKey:
			fmt.Fprintf(&b, " -%s", o.Key)
		case OpDeleteRange:
			fmt.Fprintf(&b, " -[%s..%s)", o.Key, o.End)
		}
	}
	return b.String()
}
