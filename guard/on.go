//go:build guards

package guard

// removed is the name of the rule that this build leaves out; the linker sets it
// (-ldflags "-X github.com/sluice-data/sluice/guard.removed=NAME").
var removed string

// Out reports whether the named rule is left out of this build.
func Out(n Name) bool { return string(n) == removed }
