package gate

import (
	"sync"

	"github.com/sluice-data/sluice/core"
)

// maxMade bounds what is remembered of one table's execution.
const maxMade = 64 << 10

// made remembers the keys that executions wrote: a client may not delete them while the execution is
// unreleased, and of the transaction files it knows which may still be rewritten.
type made struct {
	mu     sync.Mutex
	tables map[core.Target]*madeOf
}

// madeOf is what one execution of a table wrote. A newer execution replaces it: there is one at a time.
type madeOf struct {
	execution core.ExecutionID
	keys      map[string]bool // true: a transaction file that may be rewritten
}

func newMade() *made { return &made{tables: map[core.Target]*madeOf{}} }

// add records a key that an execution wrote.
func (m *made) add(c core.Caller, key string, rewritable bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.tables[c.Target]
	if of == nil || of.execution != c.Execution {
		of = &madeOf{execution: c.Execution, keys: map[string]bool{}}
		m.tables[c.Target] = of
	}
	if len(of.keys) < maxMade {
		of.keys[key] = rewritable
	}
}

// rewritable reports whether an execution may rewrite a transaction file: its own, until its commit has
// landed.
func (m *made) rewritable(c core.Caller, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.tables[c.Target]
	return of != nil && of.execution == c.Execution && of.keys[key]
}

// freeze ends the rewriting of what an execution has made so far: a commit that names it has landed.
func (m *made) freeze(c core.Caller) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if of := m.tables[c.Target]; of != nil && of.execution == c.Execution {
		for k := range of.keys {
			of.keys[k] = false
		}
	}
}

// has reports whether the table's newest execution wrote the key.
func (m *made) has(t core.Target, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.tables[t]
	if of == nil {
		return false
	}
	_, ok := of.keys[key]
	return ok
}
