// Package guard lets a test build leave out one rule of the protocol at a time.
//
// A rule that is never seen to matter may not matter. `make guards` builds the tests with the tag
// `guards`, takes out one named rule (see [Names]) and expects the named test to fail. A production
// build has neither the switch nor the branch: Out is the constant false there and the compiler drops
// what it guards.
//
//	if version != latest+1 && !guard.Out(guard.GapVersion) {
//		return refuse(…)
//	}
package guard
