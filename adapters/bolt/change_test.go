package bolt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

func TestChangesAreMergedIntoOneBatch(t *testing.T) {
	t.Parallel()
	c := newChanges(10)
	rec := func(key string, mod core.Revision) core.Record { return core.Record{Key: key, Mod: mod} }
	c.add(change{revision: 11, puts: []core.Record{rec("k/b", 11), rec("k/a", 11)}})
	c.add(change{revision: 12, puts: []core.Record{rec("k/a", 12)}, deletes: []string{"k/b", "k/c"}})
	c.add(change{revision: 13, puts: []core.Record{rec("k/c", 13)}})
	c.add(change{revision: 14, puts: []core.Record{rec("other", 14)}})
	for _, w := range []struct {
		name  string
		of    core.Range
		after core.Revision
		want  string
	}{
		{"each key once, with its last state", core.Prefixed("k/"), 10, "13 puts [{k/a  12} {k/c  13}] deletes [k/b] head 14 true"},
		{"only what came later", core.Prefixed("k/"), 12, "13 puts [{k/c  13}] deletes [] head 14 true"},
		{"only the range", core.Range{Key: "k/b"}, 10, "12 puts [] deletes [k/b] head 14 true"},
		{"a quiet range moves on", core.Prefixed("quiet/"), 10, "0 puts [] deletes [] head 14 true"},
		{"nothing new", core.Prefixed("k/"), 14, "0 puts [] deletes [] head 14 true"},
		{"a reader ahead of the writer waits", core.Prefixed("k/"), 15, "0 puts [] deletes [] head 15 true"},
		{"too long ago", core.Prefixed("k/"), 9, "0 puts [] deletes [] head 9 false"},
	} {
		b, head, known, _ := c.since(w.after, w.of)
		got := fmt.Sprintf("%d puts %v deletes %v head %d %v", b.Revision, b.Puts, b.Deletes, head, known)
		if got != w.want {
			t.Errorf("%s:\n got %s\nwant %s", w.name, got, w.want)
		}
	}
}

func TestChangesStayBounded(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"in number": "", "in bytes": strings.Repeat("v", 1<<20)} {
		c := newChanges(0)
		for rev := core.Revision(1); rev <= keptChanges+10; rev++ {
			c.add(change{revision: rev, puts: []core.Record{{Key: "k", Value: value, Mod: rev}}})
		}
		total := 0
		for i, ch := range c.kept {
			total += ch.bytes()
			if want := c.floor + core.Revision(i) + 1; ch.revision != want {
				t.Fatalf("%s: change %d is of revision %d, want %d", name, i, ch.revision, want)
			}
		}
		if len(c.kept) == 0 || len(c.kept) > keptChanges || total > keptBytes || total != c.bytes || c.head != keptChanges+10 {
			t.Errorf("%s: keeps %d changes of %d bytes, counts %d, up to %d", name, len(c.kept), total, c.bytes, c.head)
		}
	}
}
