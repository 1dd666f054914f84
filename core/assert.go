package core

import "fmt"

// assert panics when an invariant of this package is broken. Bad input from outside never gets here: it
// is answered. Assertions stay on in production, because going on would be worse.
func assert(ok bool, format string, args ...any) {
	if !ok {
		panic("broken invariant: " + fmt.Sprintf(format, args...))
	}
}
