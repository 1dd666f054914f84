package stock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/stock"
)

func TestForeignProgramsWriteToTheBase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	table, _ := newTable(t, "events")
	if err := clients.CreateLSM(ctx, table, stock.Rows{To: 10}, ""); err != nil {
		t.Fatal(err)
	}
	must[stock.Written](t)(clients.WriteLSM(ctx, table, stock.Rows{From: 5, To: 15, Generation: 1}, ""))
	first := must[stock.State](t)(clients.State(ctx, table)).Version
	version := first
	for _, change := range []struct {
		name string
		make func() (uint64, error)
		rows int // of the base afterwards
	}{
		{"append", func() (uint64, error) { return clients.Append(ctx, table, stock.Rows{From: 20, To: 22}) }, 12},
		{"update", func() (uint64, error) {
			return clients.Update(ctx, table, "id = 20", map[string]string{"score": "1.5"})
		}, 12},
		{"delete", func() (uint64, error) { return clients.Delete(ctx, table, "id = 21") }, 11},
		{"upsert", func() (uint64, error) { return clients.Upsert(ctx, table, stock.Rows{From: 20, To: 22}, nil) }, 12},
		{"compact", func() (uint64, error) { return clients.Compact(ctx, table) }, 12},
		{"index", func() (uint64, error) { return clients.Index(ctx, table, "id") }, 12},
		{"metadata", func() (uint64, error) {
			return clients.SetMetadata(ctx, table, map[string]string{"owner": "me"}, true)
		}, 12},
		{"restore", func() (uint64, error) { return clients.Restore(ctx, table, first) }, 10},
		{"overwrite", func() (uint64, error) { return clients.Overwrite(ctx, table, stock.Rows{To: 3}) }, 3},
	} {
		made := must[uint64](t)(change.make())
		found := must[stock.Contents](t)(clients.Base(ctx, table, 0, ""))
		if made <= version || found.Version != made || found.Rows != change.rows {
			t.Fatalf("%s made version %d after %d; the base is %+v, expected %d rows", change.name, made, version, found, change.rows)
		}
		version = made
	}
	// The overwrite took the MemWAL index: the generation that lies in the shard is in no view any more.
	if found := must[stock.Contents](t)(clients.View(ctx, table, "")); found.Rows != 3 {
		t.Fatalf("expected the 3 rows of the base in the view, found %d", found.Rows)
	}
}

func TestATableIsMadeAgainInThePlaceOfADroppedOne(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	table, record := newTable(t, "events")
	for range 2 {
		if err := clients.CreateLSM(ctx, table, stock.Rows{To: 10}, record); err != nil {
			t.Fatal(err)
		}
		must[stock.Written](t)(clients.WriteGenerations(ctx, table, 1, 4, record))
		wantEqual(t, stock.File(record), stock.ViewOf(table))
		if err := clients.Drop(ctx, table); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStaleMarkIsRefusedInTheClientsOwnWords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	table, record := newTable(t, "accounts")
	if err := clients.CreateSharded(ctx, table, stock.Rows{To: 10}, record); err != nil {
		t.Fatal(err)
	}
	w := must[stock.Written](t)(clients.ShardWrite(ctx, table, "", &stock.Rows{From: 5, To: 12, Generation: 1}, []any{3}, record))
	must[uint64](t)(clients.MergeScript(ctx, table, "", 0))
	wantEqual(t, stock.File(record), stock.BaseOf(table))
	_, err := clients.Upsert(ctx, table, stock.Rows{To: 1}, map[string]uint64{w.Shard: 1})
	var raised *stock.Error
	if !errors.As(err, &raised) || raised.Type != "OSError" || !strings.Contains(raised.Message, "Stale SSTable compaction") {
		t.Fatalf("expected OSError with `Stale SSTable compaction`, got %v", err)
	}
	rows := must[[]map[string]any](t)(clients.Row(ctx, stock.ViewOf(table), 3))
	if len(rows) != 0 {
		t.Fatalf("the deleted key 3 is in the view: %v", rows)
	}
}
