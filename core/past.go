package core

import "strings"

// The past of tables, history and takeovers, is read when it is asked for. No machine follows it: of many
// tables it is far more than everything else.
var past = []Range{Prefixed(Root + "history/"), Prefixed(Root + "takeover/")}

// Past reports whether a key is of the past.
func Past(key string) bool {
	return strings.HasPrefix(key, past[0].Key) || strings.HasPrefix(key, past[1].Key)
}

// WithoutPast is [Everything] but the past, as ranges in order.
func WithoutPast() []Range {
	all := Everything()
	return []Range{{all.Key, past[0].Key}, {past[0].End, past[1].Key}, {past[1].End, all.End}}
}
