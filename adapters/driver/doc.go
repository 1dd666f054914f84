// Package driver runs core's machines against the world: it feeds them events, one at a time, and carries
// out the effects that come back, at the same time, each answered by a further event.
//
// It decides nothing. An `if` about the protocol's state in this package is in the wrong place.
package driver
