package bolt

import (
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// The bounds of what is remembered for watchers. One who falls behind gets a snapshot instead.
const (
	keptChanges = 1024
	keptBytes   = 4 << 20
)

// change is what one transaction changed.
type change struct {
	revision core.Revision
	puts     []core.Record
	deletes  []string
}

func (c change) empty() bool { return len(c.puts) == 0 && len(c.deletes) == 0 }

func (c change) bytes() int {
	n := 0
	for _, p := range c.puts {
		n += len(p.Key) + len(p.Value)
	}
	for _, key := range c.deletes {
		n += len(key)
	}
	return n
}

// changes is the recent past, shared by all watchers: each has only a position in it, so that a writer
// never waits for a reader and a slow reader costs nothing.
//
// Invariant: it holds every change with floor < revision ≤ head, in order of revisions.
type changes struct {
	mu    sync.Mutex
	floor core.Revision
	head  core.Revision
	kept  []change
	bytes int
	grew  chan struct{} // closed by the next add
}

func newChanges(rev core.Revision) *changes {
	return &changes{floor: rev, head: rev, grew: make(chan struct{})}
}

// add appends the newest change and forgets the oldest ones over the bounds.
func (c *changes) add(newest change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, newest)
	c.head = newest.revision
	c.bytes += newest.bytes()
	for len(c.kept) > keptChanges || c.bytes > keptBytes {
		oldest := c.kept[0]
		c.floor = oldest.revision
		c.bytes -= oldest.bytes()
		c.kept[0] = change{}
		c.kept = c.kept[1:]
	}
	close(c.grew)
	c.grew = make(chan struct{})
}

// since merges what changed in a range after a revision into one batch, each key once, and says how far
// it looked. A batch of revision 0 means that nothing did; known is false if the past that far back is
// forgotten. grew is closed by the next change after head.
func (c *changes) since(rev core.Revision, r core.Range) (b kv.Batch, head core.Revision, known bool, grew <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rev < c.floor {
		return kv.Batch{}, rev, false, c.grew
	}
	last := map[string]*core.Record{} // nil: deleted
	first := sort.Search(len(c.kept), func(i int) bool { return c.kept[i].revision > rev })
	for _, ch := range c.kept[first:] {
		for i, p := range ch.puts {
			if r.Contains(p.Key) {
				last[p.Key] = &ch.puts[i]
				b.Revision = ch.revision
			}
		}
		for _, key := range ch.deletes {
			if r.Contains(key) {
				last[key] = nil
				b.Revision = ch.revision
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(last)) {
		if p := last[key]; p != nil {
			b.Puts = append(b.Puts, *p)
		} else {
			b.Deletes = append(b.Deletes, key)
		}
	}
	return b, max(rev, c.head), true, c.grew
}
