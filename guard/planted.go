//go:build planted && !guards

package guard

// removed is the name of the rule that is left out right now.
var removed Name

// SetOut leaves one rule out from now on, or none for "". It exists only in builds with the tag `planted`,
// which the simulator's planted bugs are tried in, and it is not for several goroutines at once.
func SetOut(n Name) { removed = n }

// Out reports whether the named rule is left out.
func Out(n Name) bool { return n == removed && n != "" }
