package sim

import (
	"cmp"
	"slices"
)

// sortedKeys is how this package goes over a map: the order of a map itself would make two runs differ.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
