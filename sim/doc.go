// Package sim runs virtual fleets of core's machines, on a virtual clock, under faults, until an invariant
// breaks or none does.
//
// It supplies the world and nothing else: a KV (kv.go), what a process sees of it (kvclient.go), a lake of
// abstract Lance tables (lake.go, table.go), gates and engines (gate.go, engine.go), processes with clocks
// (process.go, clock.go) and a network between them. Every decision of the protocol is core's; a test
// holds this package to that, and to using no clock, no chance and no order of a map.
//
// A run is a [Profile], which its seed draws first, and the [Choice]s that its source makes: each of them
// is one thing that went wrong. [Run] goes through three phases: a warm-up; faults; and an end in which one
// master, one worker, the KV and the lake are whole while everything else stays as broken as it is. By
// then all that is pending must be merged.
//
// Invariants are checked after every step (check.go), and window by window the histories that clients have
// seen are held to models with porcupine (judge.go). A failing run is a trace, which [Replay] plays again and
// [Shrink] makes smaller.
package sim
