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
