//go:build !guards && !planted

package guard

// Out reports whether the named rule is left out of this build. In production no rule is.
func Out(Name) bool { return false }
