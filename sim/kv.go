package sim

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// KV is the KV of the virtual cluster: linearizable, because it does one thing at a time. It has
// revisions, transactions, ranges and leases; what a client sees of it through a network is kvclient.go.
type KV struct {
	rev     core.Revision
	records []*kvRecord // sorted by key, never written in place
	log     []kvChange  // all changes after the revision compacted
	// compacted: changes up to this revision can't be told any more.
	compacted core.Revision
	// observe is told of every transaction that was applied, with what its keys held before.
	observe func(t core.Txn, before map[string]core.Record)
	// logged is the sum of everything that was ever written, for the digest.
	logged hash
}

type kvRecord struct {
	core.Record
	holder string // whose lease the key ends with; "" if it has none
}

// kvChange is what one transaction changed.
type kvChange struct {
	rev     core.Revision
	puts    []core.Record
	deletes []string
}

// NewKV makes an empty KV. Its revision is 1, since 0 stands for a key that is absent.
func NewKV() *KV { return &KV{rev: 1, logged: newHash()} }

// Revision is that of the last change.
func (k *KV) Revision() core.Revision { return k.rev }

func (k *KV) find(key string) (int, bool) {
	return slices.BinarySearchFunc(k.records, key, func(r *kvRecord, key string) int { return strings.Compare(r.Key, key) })
}

// Get is one record; one that is absent has Mod 0.
func (k *KV) Get(key string) core.Record {
	if i, ok := k.find(key); ok {
		return k.records[i].Record
	}
	return core.Record{Key: key}
}

// Apply carries out a transaction of a client; it reports whether the conditions held. A transaction that
// changes nothing leaves the revision where it is.
func (k *KV) Apply(t core.Txn, holder string) bool {
	holds := k.would(t) || out(condIgnored) && len(t.If) > 1 && k.holds(t.If[0])
	if !holds {
		return false
	}
	before := map[string]core.Record{}
	ch := kvChange{rev: k.rev + 1}
	for _, op := range t.Then {
		switch op.Op {
		case core.OpPut:
			i, ok := k.find(op.Key)
			if !ok {
				k.records = slices.Insert(k.records, i, &kvRecord{Record: core.Record{Key: op.Key}})
			}
			before[op.Key] = k.records[i].Record
			r := core.Record{Key: op.Key, Value: op.Value, Mod: ch.rev}
			k.records[i] = &kvRecord{Record: r}
			if op.Leased {
				k.records[i].holder = holder
			}
			ch.puts = append(ch.puts, r)
			k.logged.text(op.Key)
			k.logged.text(op.Value)
		case core.OpDeleteKey:
			ch.deletes = append(ch.deletes, k.remove(core.Range{Key: op.Key}, before)...)
		case core.OpDeleteRange:
			ch.deletes = append(ch.deletes, k.remove(core.Range{Key: op.Key, End: op.End}, before)...)
		}
	}
	if len(ch.puts)+len(ch.deletes) == 0 {
		return true
	}
	k.rev = ch.rev
	if k.log = append(k.log, ch); len(k.log) > keptChanges {
		k.Compact(k.log[keptChanges/2].rev)
	}
	if k.observe != nil {
		k.observe(t, before)
	}
	return true
}

// keptChanges is how many changes the KV keeps, as a server does that compacts by itself.
const keptChanges = 4096

// Compact forgets the changes up to a revision: a watch that is further behind starts from a snapshot.
func (k *KV) Compact(upTo core.Revision) {
	k.compacted = max(k.compacted, upTo)
	kept, _ := k.since(k.compacted)
	k.log = slices.Clone(kept)
}

// since are the changes after a revision; ok is false if they can't be told any more.
func (k *KV) since(from core.Revision) (changes []kvChange, ok bool) {
	if from < k.compacted {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(k.log, from+1, func(c kvChange, r core.Revision) int { return cmp.Compare(c.rev, r) })
	return k.log[i:], true
}

// Changes goes over the changes after a revision, oldest first, as far as they are not compacted.
func (k *KV) Changes(from core.Revision) iter.Seq2[core.Revision, Change] {
	return func(yield func(core.Revision, Change) bool) {
		changes, _ := k.since(from)
		for _, c := range changes {
			if !yield(c.rev, Change{c.puts, c.deletes}) {
				return
			}
		}
	}
}

// Change is what one transaction has changed.
type Change struct {
	Puts    []core.Record
	Deletes []string
}

// Check says what is wrong with the form of a transaction: etcd takes neither more than its limit nor two
// writes of one key.
func Check(t core.Txn) error {
	if len(t.If) > core.MaxTxnOps || len(t.Then) > core.MaxTxnOps {
		return fmt.Errorf("%s has %d conditions and %d operations", t.Name, len(t.If), len(t.Then))
	}
	for i, a := range t.Then {
		for _, b := range t.Then[:i] {
			if (core.Range{Key: a.Key, End: a.End}).Contains(b.Key) || (core.Range{Key: b.Key, End: b.End}).Contains(a.Key) {
				return fmt.Errorf("%s writes %s twice", t.Name, a.Key)
			}
		}
	}
	return nil
}

func (k *KV) holds(c core.Cond) bool {
	switch c.Op {
	case core.CondHolds:
		i, ok := k.find(c.Key)
		return ok && k.records[i].Value == c.Value
	case core.CondAbsent:
		_, ok := k.find(c.Key)
		return !ok
	case core.CondUnchanged:
		return k.Get(c.Key).Mod == c.Rev
	case core.CondRangeUnchanged:
		for _, r := range k.within(core.Range{Key: c.Key, End: c.End}) {
			if r.Mod > c.Rev {
				return false
			}
		}
		return true
	}
	panic("unknown condition")
}

// within are the records of one range.
func (k *KV) within(r core.Range) []*kvRecord {
	from, ok := k.find(r.Key)
	if r.End == "" {
		if ok {
			return k.records[from : from+1]
		}
		return nil
	}
	to, _ := k.find(r.End)
	return k.records[from:max(from, to)]
}

func (k *KV) remove(r core.Range, before map[string]core.Record) []string {
	gone := slices.Clone(k.within(r))
	if len(gone) == 0 {
		return nil
	}
	var keys []string
	for _, rec := range gone {
		before[rec.Key] = rec.Record
		keys = append(keys, rec.Key)
		k.logged.text(rec.Key)
	}
	from, _ := k.find(gone[0].Key)
	k.records = slices.Delete(k.records, from, from+len(gone))
	return keys
}

// Read returns the records of the ranges, sorted by key, each once.
func (k *KV) Read(ranges ...core.Range) []core.Record {
	var out []core.Record
	for _, rg := range ranges {
		for _, r := range k.within(rg) {
			out = append(out, r.Record)
		}
	}
	slices.SortFunc(out, func(a, b core.Record) int { return cmp.Compare(a.Key, b.Key) })
	return slices.Compact(out)
}

// Expire ends the lease of a holder, and the keys with it; ok is false if it held none.
func (k *KV) Expire(holder string) (t core.Txn, ok bool) {
	t = core.Txn{Name: "expire"}
	for _, r := range k.records {
		if r.holder == holder && holder != "" {
			t.Then = append(t.Then, core.Delete(r.Key))
		}
	}
	return t, len(t.Then) > 0 && k.Apply(t, "")
}

// would reports whether the conditions of a transaction hold.
func (k *KV) would(t core.Txn) bool {
	return !slices.ContainsFunc(t.If, func(c core.Cond) bool { return !k.holds(c) })
}

// copied is a copy without the past. It shares the records, which nobody writes to.
func (k *KV) copied() *KV { return &KV{rev: k.rev, records: slices.Clone(k.records)} }

// Clone is a copy as a backup would hold it: without the changes that led to it.
func (k *KV) Clone() *KV {
	return &KV{rev: k.rev, records: slices.Clone(k.records), log: slices.Clone(k.log), compacted: k.compacted, logged: k.logged}
}

// Get reads one record of a known type; the zero value stands for one that is absent.
func Get[R any](k *KV, key string) R { return decode[R](k.Get(key)) }

// decode reads a record that this program has written itself.
func decode[R any](rec core.Record) (r R) {
	if rec.Value == "" {
		return r
	}
	r, err := core.Decode[R](rec.Key, rec.Value)
	if err != nil {
		panic(err)
	}
	return r
}
