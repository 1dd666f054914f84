package gate

import (
	"sync"
	"time"

	"github.com/sluice-data/sluice/core"
)

// maxPassed bounds the versions let through that are remembered of one table.
const maxPassed = 4096

// Foreign is the operator's evidence about writers that bypass the gate.
type Foreign struct {
	// Count is how many versions of a table appeared that neither this gate nor this process let through.
	Count uint64
	// Latest is the newest of them, LastSeen when this process first saw it.
	Latest   core.Version
	LastSeen time.Time
}

// foreign counts base versions that no gate of ours let through.
type foreign struct {
	mu     sync.Mutex
	tables map[core.Target]*tableVersions
}

type tableVersions struct {
	seen   core.Version // what lies at or below was there before, or is counted
	passed map[core.Version]bool
	Foreign
}

func newForeign() *foreign { return &foreign{tables: map[core.Target]*tableVersions{}} }

func (f *foreign) of(t core.Target) *tableVersions {
	v := f.tables[t]
	if v == nil {
		v = &tableVersions{passed: map[core.Version]bool{}}
		f.tables[t] = v
	}
	return v
}

// pass records a version that was let through.
func (f *foreign) pass(t core.Target, v core.Version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of := f.of(t); len(of.passed) < maxPassed {
		of.passed[v] = true
	}
}

// look records what the lake shows. The first look at a table only says where counting begins.
func (f *foreign) look(t core.Target, latest core.Version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.of(t)
	if of.seen == 0 {
		of.seen = latest
	}
	if latest <= of.seen {
		return
	}
	unknown := uint64(latest - of.seen)
	newest := latest
	for of.passed[newest] {
		newest--
	}
	for v := range of.passed {
		if v > of.seen && v <= latest {
			unknown--
		}
		if v <= latest {
			delete(of.passed, v)
		}
	}
	of.seen = latest
	if unknown > 0 {
		of.Count += unknown
		of.Latest, of.LastSeen = newest, time.Now()
	}
}

// lost takes back a pass: somebody else's body stands at that version.
func (f *foreign) lost(t core.Target, v core.Version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.of(t)
	if of.seen >= v && !of.passed[v] {
		of.Count++
		of.Latest, of.LastSeen = v, time.Now()
	}
	delete(of.passed, v)
}

// Passed tells the gate of a version that this process published past it (a fence, an adoption), so that
// it isn't counted as foreign.
func (g *Gate) Passed(t core.Target, v core.Version) { g.foreign.pass(t, v) }

// ForeignVersions says how many versions of a table this process did not let through, as far as commits
// through this gate made it look.
func (g *Gate) ForeignVersions(t core.Target) Foreign {
	g.foreign.mu.Lock()
	defer g.foreign.mu.Unlock()
	return g.foreign.of(t).Foreign
}
