package kvtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/sluice-data/sluice/core"
)

func testReads(t *testing.T, h Harness) {
	s := h.open(t)
	mod := s.write(core.Put("k/b", "2"), core.Put("k/a", "1"), core.Put("k/c/x", "3"), core.Put("k/c", "4"))
	a, b := core.Record{Key: "k/a", Value: "1", Mod: mod}, core.Record{Key: "k/b", Value: "2", Mod: mod}
	c, x := core.Record{Key: "k/c", Value: "4", Mod: mod}, core.Record{Key: "k/c/x", Value: "3", Mod: mod}
	for name, want := range map[string]struct {
		ranges  []core.Range
		records []core.Record
	}{
		"everything, sorted":            {[]core.Range{all}, []core.Record{a, b, c, x}},
		"no range":                      {nil, nil},
		"one key":                       {[]core.Range{{Key: "k/c"}}, []core.Record{c}},
		"a missing key":                 {[]core.Range{{Key: "k/d"}}, nil},
		"what is under a prefix":        {[]core.Range{core.Prefixed("k/c/")}, []core.Record{x}},
		"the end is not in it":          {[]core.Range{{Key: "k/a", End: "k/c"}}, []core.Record{a, b}},
		"ranges in any order":           {[]core.Range{{Key: "k/c"}, {Key: "k/a"}}, []core.Record{a, c}},
		"overlapping ranges, each once": {[]core.Range{{Key: "k/b", End: "k/c/y"}, {Key: "k/b"}, all}, []core.Record{a, b, c, x}},
	} {
		got := s.read(want.ranges...)
		if fmt.Sprint(got.Records) != fmt.Sprint(want.records) || got.Revision != mod {
			t.Errorf("%s:\n got %v at %d\nwant %v at %d", name, got.Records, got.Revision, want.records, mod)
		}
	}
	testOneRevision(t, s)
}

// testOneRevision reads two ranges while a writer keeps their keys equal: a read that shows different
// values was made at two revisions.
func testOneRevision(t *testing.T, s store) {
	var writer sync.WaitGroup
	done := make(chan struct{})
	writer.Go(func() {
		defer close(done)
		for i := range 100 {
			value := fmt.Sprint(i)
			if _, err := s.Commit(t.Context(), core.Txn{Then: []core.Op{core.Put("k/left", value), core.Put("k/right", value)}}); err != nil {
				t.Errorf("commit: %v", err)
				return
			}
		}
	})
	defer writer.Wait()
	var last core.Revision
	for {
		got := s.read(core.Range{Key: "k/right"}, core.Range{Key: "k/left"})
		if n := len(got.Records); n == 1 || n == 2 && got.Records[0].Value != got.Records[1].Value {
			t.Errorf("one read shows two states: %v", got.Records)
		}
		if got.Revision < last {
			t.Errorf("a read at revision %d after one at %d", got.Revision, last)
		}
		last = got.Revision
		select {
		case <-done:
			return
		default:
		}
	}
}
