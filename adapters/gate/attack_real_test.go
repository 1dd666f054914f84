package gate_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// The attacks under "Commits and the gate", with real pylance, the real gate and a real lake. The worker's
// machine is the fake of authority_test.go.

// Storage says that the version exists while the put is still on its way; it lands by the time that somebody
// looks for the newest version. A client that was told of a conflict would find its own commit there, take
// it for somebody else's, and delete the files that it names.
func TestEarlyConflictIsNoConflictUntilItIsReadBack(t *testing.T) {
	t.Parallel()
	var f *faulty
	w := newWorld(t, setup{wrap: func(l lake.Lake) lake.Lake {
		f = &faulty{Lake: l}
		return f
	}})
	c := pylance(t)
	w.adopted(t, c)
	next := w.head(t) + 1
	onItsWay := make(chan []byte, 1)
	var lied atomic.Bool
	f.put = func(ctx context.Context, key string, body io.Reader) error {
		if !isCommit(key, next) || !lied.CompareAndSwap(false, true) {
			return f.Lake.PutIfAbsent(ctx, key, body)
		}
		all, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		onItsWay <- all
		return lake.ErrExists
	}
	f.look = func(folder string) {
		if folder != lance.VersionsFolder(table) {
			return
		}
		select {
		case late := <-onItsWay:
			if err := w.lake.PutIfAbsent(context.Background(), lance.BaseKey(table, core.V2, next), bytes.NewReader(late)); err != nil {
				t.Errorf("land the late put: %v", err)
			}
		default:
		}
	}
	r := c.do(t, w.Gate, w.client, "merge", table, args{"ids": ids(0, 13)})
	if r.Error != "" {
		t.Errorf("the client calls its own commit failed: %s", firstLine(r.Error))
	}
	if got := w.intact(t, c, 13); got.Version != next {
		t.Errorf("the head is version %d, want %d: one commit", got.Version, next)
	}
}

// The put is stored, its answer is lost, and it can't be read back either: the client meets its own file.
func TestLandedBut500IsOneCommit(t *testing.T) {
	t.Parallel()
	var f *faulty
	w := newWorld(t, setup{wrap: func(l lake.Lake) lake.Lake {
		f = &faulty{Lake: l}
		return f
	}})
	c := pylance(t)
	shard := w.adopted(t, c)
	_, cred := w.start(t, table, shard)
	next := w.head(t) + 1
	lost := errors.New("connection reset")
	var puts, reads atomic.Int32
	f.put = func(ctx context.Context, key string, body io.Reader) error {
		err := f.Lake.PutIfAbsent(ctx, key, body)
		if isCommit(key, next) && puts.Add(1) == 1 {
			return lost
		}
		return err
	}
	f.open = func(ctx context.Context, key string) (io.ReadCloser, lake.Info, error) {
		if isCommit(key, next) && reads.Add(1) == 1 {
			return nil, lake.Info{}, lost
		}
		return f.Lake.Open(ctx, key)
	}
	c.must(t, w.Gate, cred, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1})
	if got := w.intact(t, c, 15); got.Version != next {
		t.Errorf("the head is version %d, want %d: one commit", got.Version, next)
	}
	if o := w.authority.outcomes(table); len(o) != 1 || o[0] != core.Unknown {
		t.Errorf("settled %v, want the one put, unknown", o)
	}
}

// A worker stands still between admission and put; its table is taken over; then the put goes on.
func TestLatePutMeetsAnOccupiedVersion(t *testing.T) {
	t.Parallel()
	var next atomic.Uint64
	var hold *lake.Hold
	w := newWorld(t, setup{wrap: func(l lake.Lake) lake.Lake {
		hold = lake.NewHold(l, func(key string) bool { return isCommit(key, core.Version(next.Load())) })
		return hold
	}})
	c, other := pylance(t), pylance(t)
	shard := w.adopted(t, c)
	e, cred := w.start(t, table, shard)
	next.Store(uint64(w.head(t) + 1))
	merged := make(chan reply, 1)
	go func() {
		merged <- c.do(t, w.Gate, cred, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1, "retries": 0})
	}()
	late, err := hold.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Revoke(e.ID)
	landed, err := lance.Fence(t.Context(), w.lake, lance.FenceRequest{
		Target: table, Resource: core.Base, Version: core.Version(next.Load()), TableID: tableID, Scheme: core.V2,
		Seen: e.BaseVersion, Execution: e.ID, UUID: "00000000-0000-4000-8000-000000000002", Now: 1,
	})
	if err != nil || !landed {
		t.Fatalf("fence: %v, %v", landed, err)
	}
	w.authority.release(e.ID)
	if err := late.Release(); !errors.Is(err, lake.ErrExists) {
		t.Errorf("the late put: %v, want that the version is taken", err)
	}
	if r := <-merged; r.Error == "" {
		t.Error("the late merge reports success")
	}
	if got := w.intact(t, other, 10); got.Rows["5"] != "base5" {
		t.Errorf("row 5 is %q: the late merge took effect", got.Rows["5"])
	}
	if o := w.authority.outcomes(table); len(o) != 1 || o[0] != core.NotApplied {
		t.Errorf("settled %v, want one conflict", o)
	}
}

// The put is held past the client's own time-out; the client gives up and deletes its transaction file.
func TestLongHoldIsNotForwardedOnceTheClientHasGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	shard := w.adopted(t, c)
	_, cred := w.start(t, table, shard)
	next := w.head(t) + 1
	asked, decide := make(chan struct{}, 64), make(chan struct{})
	w.authority.ask(table, func(ctx context.Context, _ core.CommitIntent, v core.Verdict) core.Verdict {
		asked <- struct{}{}
		<-decide // a KV that is away, and then says yes
		notice(ctx)
		return v
	})
	opts := w.StorageOptions(cred)
	opts["timeout"] = "1s"
	r := c.do(t, w.Gate, cred, "merge", table, args{"opts": opts, "ids": ids(5, 15), "shard": shard, "generation": 1, "retries": 0})
	if r.Error == "" {
		t.Fatal("the client did not give up")
	}
	close(decide)
	for _, o := range w.authority.await(t, len(asked)) {
		if o != core.NotApplied {
			t.Errorf("settled as %s, want not applied", o)
		}
	}
	if w.head(t) >= next {
		t.Error("a commit landed whose client had given up")
	}
	w.intact(t, c, 10)
}

func TestForeignMergeOfAnOwnedTableIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	shard := w.adopted(t, c)
	w.authority.own(table, core.Owned)
	before := w.head(t)
	r := c.do(t, w.Gate, w.client, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1})
	if !strings.Contains(r.Error, string(core.RuleForeignMarks)) || w.head(t) != before {
		t.Errorf("a foreign merge: %q, version %d, want a refusal at version %d", firstLine(r.Error), w.head(t), before)
	}
	c.must(t, w.Gate, w.client, "merge", table, args{"ids": ids(5, 15)}) // without marks it is a plain write
	w.authority.own(table, core.Direct)
	c.must(t, w.Gate, w.client, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1})
	w.intact(t, c, 15)
}

// A stray engine writes again over what a landed manifest names.
func TestOverwriteOwnFilesIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	shard := w.adopted(t, c)
	before := append(w.files(t, "data/"), w.files(t, "_transactions/")...)
	_, cred := w.start(t, table, shard)
	engine := newWire(w.Gate, cred)
	txn := table.Path() + "/_transactions/1-own.txn"
	for _, body := range []string{"first", "rebased"} {
		if s := engine.put(t, txn, body); s != 200 {
			t.Errorf("writing its own transaction file before anything has landed: %d, want 200", s)
		}
	}
	c.must(t, w.Gate, cred, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1})
	after := append(w.files(t, "data/"), w.files(t, "_transactions/")...)
	if len(after) <= len(before) {
		t.Fatal("the merge wrote no files")
	}
	for _, key := range after {
		body, err := w.lake.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if s := engine.put(t, key, "other bytes"); s != 403 {
			t.Errorf("other bytes over %s: %d, want 403", key, s)
		}
		if s := engine.put(t, key, string(body)); s != 200 {
			t.Errorf("the same bytes over %s: %d, want 200", key, s)
		}
	}
	w.intact(t, c, 15)
}
