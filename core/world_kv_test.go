package core_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-data/sluice/core"
)

// memKV is the KV of the miniature world: linearizable, because it does one thing at a time.
type memKV struct {
	rev     core.Revision
	records map[string]core.Record
	leases  map[string]string // key → the process that holds it
	log     []kvChange
	// observe is told of every transaction that was applied, with the records as they were before.
	observe func(t core.Txn, before map[string]core.Record)
}

// kvChange is what one transaction changed.
type kvChange struct {
	rev     core.Revision
	puts    []core.Record
	deletes []string
}

func newKV() *memKV {
	return &memKV{records: map[string]core.Record{}, leases: map[string]string{}}
}

// apply carries out a transaction for a process; it reports whether the conditions held.
func (k *memKV) apply(t core.Txn, process string) bool {
	k.checkForm(t)
	for _, c := range t.If {
		if !k.holds(c) {
			return false
		}
	}
	before := maps.Clone(k.records)
	k.rev++
	ch := kvChange{rev: k.rev}
	for _, op := range t.Then {
		switch op.Op {
		case core.OpPut:
			r := core.Record{Key: op.Key, Value: op.Value, Mod: k.rev}
			k.records[op.Key] = r
			delete(k.leases, op.Key)
			if op.Leased {
				k.leases[op.Key] = process
			}
			ch.puts = append(ch.puts, r)
		case core.OpDeleteKey:
			ch.deletes = append(ch.deletes, k.remove(core.Range{Key: op.Key})...)
		case core.OpDeleteRange:
			ch.deletes = append(ch.deletes, k.remove(core.Range{Key: op.Key, End: op.End})...)
		}
	}
	k.log = append(k.log, ch)
	if k.observe != nil {
		k.observe(t, before)
	}
	return true
}

// checkForm holds every transaction of core to what etcd takes.
func (k *memKV) checkForm(t core.Txn) {
	if len(t.If) >= core.MaxTxnOps || len(t.Then) >= core.MaxTxnOps {
		panic(fmt.Sprintf("%s has %d conditions and %d operations", t.Name, len(t.If), len(t.Then)))
	}
	for i, a := range t.Then {
		for _, b := range t.Then[:i] {
			if (core.Range{Key: a.Key, End: a.End}).Contains(b.Key) || (core.Range{Key: b.Key, End: b.End}).Contains(a.Key) {
				panic(fmt.Sprintf("%s writes %s twice", t.Name, a.Key))
			}
		}
	}
}

func (k *memKV) holds(c core.Cond) bool {
	r, ok := k.records[c.Key]
	switch c.Op {
	case core.CondHolds:
		return ok && r.Value == c.Value
	case core.CondAbsent:
		return !ok
	case core.CondUnchanged:
		return r.Mod == c.Rev
	case core.CondRangeUnchanged:
		for _, r := range k.read(core.Range{Key: c.Key, End: c.End}) {
			if r.Mod > c.Rev {
				return false
			}
		}
		return true
	}
	panic("unknown condition")
}

func (k *memKV) remove(r core.Range) []string {
	var gone []string
	for _, rec := range k.read(r) {
		delete(k.records, rec.Key)
		delete(k.leases, rec.Key)
		gone = append(gone, rec.Key)
	}
	return gone
}

func (k *memKV) read(ranges ...core.Range) []core.Record {
	var out []core.Record
	for _, key := range slices.Sorted(maps.Keys(k.records)) {
		if slices.ContainsFunc(ranges, func(r core.Range) bool { return r.Contains(key) }) {
			out = append(out, k.records[key])
		}
	}
	return out
}

// expire ends the leases of a process.
func (k *memKV) expire(process string) {
	var ops []core.Op
	for _, key := range slices.Sorted(maps.Keys(k.leases)) {
		if k.leases[key] == process {
			ops = append(ops, core.Delete(key))
		}
	}
	if len(ops) > 0 {
		k.apply(core.Txn{Name: "expire", Then: ops}, "")
	}
}

// record reads one record of a known type; the zero value stands for one that is absent.
func record[R any](k *memKV, key string) (r R) {
	rec, ok := k.records[key]
	if !ok {
		return r
	}
	r, err := core.Decode[R](key, rec.Value)
	if err != nil {
		panic(err)
	}
	return r
}
