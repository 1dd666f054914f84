package kvtest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// mirror is what a watcher knows of a range. Whatever way a store cuts its changes into batches, after
// each batch the mirror must equal the range at the batch's revision.
type mirror struct {
	of       core.Range
	revision core.Revision
	records  map[string]core.Record
}

// newMirror starts from an empty range at a revision.
func newMirror(of core.Range, at core.Revision) *mirror {
	return &mirror{of: of, revision: at, records: map[string]core.Record{}}
}

// take applies a batch and says what is wrong with it.
func (m *mirror) take(b kv.Batch) error {
	if b.Revision < m.revision || b.Revision == m.revision && !b.Reset {
		return fmt.Errorf("batch at revision %d after revision %d", b.Revision, m.revision)
	}
	if b.Reset {
		clear(m.records)
	} else if len(b.Puts)+len(b.Deletes) == 0 {
		return fmt.Errorf("batch at revision %d without a change", b.Revision)
	}
	told := map[string]bool{}
	for _, key := range b.Deletes {
		if told[key] || b.Reset || !m.of.Contains(key) {
			return fmt.Errorf("batch at revision %d should not tell of the delete of %s", b.Revision, key)
		}
		told[key] = true
		delete(m.records, key)
	}
	for _, r := range b.Puts {
		if told[r.Key] || !m.of.Contains(r.Key) {
			return fmt.Errorf("batch at revision %d should not tell of the put of %s", b.Revision, r.Key)
		}
		if r.Mod > b.Revision || r.Mod <= m.revision && !b.Reset {
			return fmt.Errorf("batch after %d up to %d tells of %s at revision %d", m.revision, b.Revision, r.Key, r.Mod)
		}
		told[r.Key] = true
		m.records[r.Key] = r
	}
	m.revision = b.Revision
	return nil
}

// next takes one batch off a watch.
func (m *mirror) next(t tester, watch <-chan kv.Batch) kv.Batch {
	t.Helper()
	select {
	case b, open := <-watch:
		if !open {
			t.Fatalf("the watch of %v ended at revision %d", m.of, m.revision)
		}
		if err := m.take(b); err != nil {
			t.Fatalf("watch of %v: %v: %+v", m.of, err, b)
		}
		return b
	case <-time.After(patience):
		t.Fatalf("the watch of %v says nothing after revision %d", m.of, m.revision)
	}
	panic("unreachable")
}

// follow takes batches up to a revision at which the range was changed.
func (m *mirror) follow(t tester, watch <-chan kv.Batch, until core.Revision) {
	t.Helper()
	for m.revision < until {
		m.next(t, watch)
	}
}

func (m *mirror) sorted() []core.Record {
	var records []core.Record
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		records = append(records, m.records[key])
	}
	return records
}
