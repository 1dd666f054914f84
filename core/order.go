package core

import (
	"cmp"
	"slices"
)

// A map has no order, and what has none must not reach an effect. So the core goes over maps here alone: in
// the order of their keys, or for what is the same in every order.

// sortedKeys are the keys of a map in their order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// insertSorted is a list with k in it. The list itself stays as it is: somebody may be going over it.
func insertSorted[K cmp.Ordered](list []K, k K) []K {
	i, there := slices.BinarySearch(list, k)
	if there {
		return list
	}
	return slices.Insert(slices.Clip(list), i, k)
}

// soonest is the first alarm of all that a map holds.
func soonest[K comparable, V any](m map[K]V, alarmOf func(V) alarm) (first alarm) {
	for _, v := range m {
		first = earliest(first, alarmOf(v))
	}
	return first
}
