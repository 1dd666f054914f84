package gate_test

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

// Stock pylance creates, appends, ingests and reads as a client, and merges as an execution.
func TestPylanceWorksThroughTheGateWithAFakeAuthority(t *testing.T) {
	t.Parallel()
	landed := make(chan core.ShardID, 64)
	w := newWorld(t, setup{landed: func(_ core.Target, s core.ShardID) { landed <- s }})
	c := pylance(t)
	shard := w.adopted(t, c)
	if s := <-landed; s != shard {
		t.Errorf("the shard that landed is %s, want %s", s, shard)
	}
	e, cred := w.start(t, table, shard)
	c.must(t, w.Gate, cred, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1})
	got := c.must(t, w.Gate, w.client, "read", table, nil)
	if got.Count != 15 || got.Rows["14"] != "merged14" || got.Rows["4"] != "base4" {
		t.Errorf("after the merge: %d rows, %v", got.Count, got.Rows)
	}
	if o := w.authority.outcomes(table); len(o) != 1 || o[0] != core.Applied {
		t.Errorf("settled %v, want one applied commit", o)
	}
	writes, read := w.authority.work(e.ID)
	if writes < 3 || read == 0 {
		t.Errorf("progress: %d writes and %d bytes read, want data, transaction and manifest, and some reads", writes, read)
	}
	for _, k := range w.wire.list(t, "", "", 7) {
		if strings.Contains(k, "sluice") || strings.Contains(k, ".sgwtmp") || !strings.HasPrefix(k, "db/events.lance/") {
			t.Errorf("the lake shows %s", k)
		}
	}
}

// A table takes its first version in either scheme, and then only that one.
func TestATableInTheOlderNamingSchemeMergesToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	c.must(t, w.Gate, w.client, "create", table, args{"ids": ids(0, 10), "v2": false})
	c.must(t, w.Gate, w.client, "adopt", table, args{"table_id": tableID})
	shard := core.ShardID(c.ask(t, args{"op": "new_shard"}).Shard)
	c.must(t, w.Gate, w.client, "ingest", table, args{"shard": shard, "ids": ids(5, 15)})
	if !w.exists(t, table.Path()+"/_versions/1.manifest") {
		t.Error("version 1 is not named in the older scheme")
	}
	e, cred := w.start(t, table, shard)
	c.must(t, w.Gate, cred, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1})
	w.intact(t, c, 15)
	if e.Scheme != core.V1 {
		t.Errorf("the table's scheme is %s", e.Scheme)
	}
}

// Files above 5 MB go by parts.
func TestPylanceWritesLargeFilesByParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	c.must(t, w.Gate, w.client, "create", table, args{"ids": []int{}})
	c.must(t, w.Gate, w.client, "large", table, args{"size": 30_000})
	if r := c.must(t, w.Gate, w.client, "read", table, nil); r.Count != 30_000 {
		t.Errorf("%d rows, want 30000", r.Count)
	}
}
