package bolt

import (
	"cmp"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/core"
)

// union collects the records of all ranges, sorted by key; ranges may overlap, each key comes once.
func union(records *bbolt.Bucket, ranges []core.Range) ([]core.Record, error) {
	var all []core.Record
	for _, r := range ranges {
		err := scan(records, r, func(key string, r stored) error {
			all = append(all, core.Record{Key: key, Value: r.value, Mod: r.mod})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b core.Record) int { return cmp.Compare(a.Key, b.Key) })
	return slices.CompactFunc(all, func(a, b core.Record) bool { return a.Key == b.Key }), nil
}
