package stock_test

import (
	"testing"

	"github.com/sluice-data/sluice/adapters/stock"
)

func TestEveryReaderSeesWhatLanceDBWrote(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	table, record := newTable(t, "events")
	if err := clients.CreateLSM(ctx, table, stock.Rows{To: 50}, record); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call goes on from the record of the first
		w := must[stock.Written](t)(clients.WriteGenerations(ctx, table, 3, 20, record))
		if w.Generations != 3 || w.Written != 60 {
			t.Fatalf("wrote %+v, expected 3 generations of 20 rows", w)
		}
	}
	state := must[stock.State](t)(clients.State(ctx, table))
	if len(state.Shards) != 1 || len(state.Pending[state.Shards[0].ID]) != 6 {
		t.Fatalf("expected one shard with 6 pending generations, found %+v", state)
	}
	wantEqual(t, stock.File(record), stock.ViewOf(table))
	wantEqual(t, stock.File(record), stock.LanceDBViewOf(table))
	if c := must[stock.Comparison](t)(clients.Compare(ctx, stock.File(record), stock.BaseOf(table))); c.Equal {
		t.Fatalf("the base has the rows of generations that nobody merged: %s", c)
	}
}

func TestEveryReaderSeesWhatAShardWriterWroteAndDeleted(t *testing.T) {
	t.Parallel()
	composite := []stock.Column{{Name: "place", Type: "string"}, {Name: "id", Type: "int64"}, {Name: "v", Type: "float32[4]"}}
	for name, make := range map[string]func(*stock.Table){
		"one key column":  func(*stock.Table) {},
		"two key columns": func(t *stock.Table) { t.Key, t.Columns = []string{"place", "id"}, composite },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			table, record := newTable(t, "accounts")
			make(&table)
			if err := clients.CreateSharded(ctx, table, stock.Rows{To: 40}, record); err != nil {
				t.Fatal(err)
			}
			w := must[stock.Written](t)(clients.ShardGenerations(ctx, table, "", 2, 20, record))
			w = must[stock.Written](t)(clients.ShardGenerations(ctx, table, w.Shard, 2, 20, record))
			before := must[stock.Contents](t)(clients.View(ctx, table, ""))
			if before.Rows != w.Rows {
				t.Fatalf("the view has %d rows, the record %d", before.Rows, w.Rows)
			}
			wantEqual(t, stock.File(record), stock.ViewOf(table), table.Key...)
			wantEqual(t, stock.File(record), stock.LanceDBViewOf(table), table.Key...)
		})
	}
}

func TestAMergedGenerationLeavesTheViewAsItWas(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	table, record := newTable(t, "accounts")
	if err := clients.CreateSharded(ctx, table, stock.Rows{To: 40}, record); err != nil {
		t.Fatal(err)
	}
	w := must[stock.Written](t)(clients.ShardGenerations(ctx, table, "", 3, 20, record))
	saved := record + ".view"
	must[stock.Contents](t)(clients.View(ctx, table, saved))
	must[uint64](t)(clients.MergeScript(ctx, table, w.Shard, 2))
	wantEqual(t, stock.File(saved), stock.ViewOf(table))
	must[uint64](t)(clients.MergeScript(ctx, table, "", 0))
	wantEqual(t, stock.File(saved), stock.BaseOf(table))
	if state := must[stock.State](t)(clients.State(ctx, table)); state.Marks[w.Shard] != 3 {
		t.Fatalf("expected the mark 3, found %+v", state)
	}
	// The merged SSTables are still there. What is deleted from the base now must not come back from them.
	must[uint64](t)(clients.Delete(ctx, table, "true"))
	if left := must[stock.Contents](t)(clients.View(ctx, table, "")); left.Rows != 0 {
		t.Fatalf("%d rows came back from merged SSTables", left.Rows)
	}
}

func TestCompareNamesTheFirstDifferences(t *testing.T) {
	t.Parallel()
	row := func(id int, name any) map[string]any { return map[string]any{"id": id, "name": name} }
	columns := []stock.Column{{Name: "id", Type: "int64"}, {Name: "name", Type: "string"}}
	for name, test := range map[string]struct {
		rows    []map[string]any
		columns []stock.Column
		want    string
	}{
		"the same in another order": {rows: []map[string]any{row(2, nil), row(1, "a")}},
		"another value":             {rows: []map[string]any{row(1, "b"), row(2, nil)}, want: "key 1: name 'a' and 'b'"},
		"a lost null":               {rows: []map[string]any{row(1, "a"), row(2, "")}, want: "key 2: name None and ''"},
		"a lost row":                {rows: []map[string]any{row(2, nil)}, want: "key 1: 1 rows and 0"},
		"a row twice":               {rows: []map[string]any{row(1, "a"), row(1, "a"), row(2, nil)}, want: "key 1: 1 rows and 2"},
		"another type": {
			rows:    []map[string]any{row(1, "a")},
			columns: []stock.Column{{Name: "id", Type: "int32"}, {Name: "name", Type: "string"}},
			want:    "column id: int64 and int32",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			left, _ := newTable(t, "left")
			right, _ := newTable(t, "right")
			left.Columns, right.Columns = columns, columns
			if test.columns != nil {
				right.Columns = test.columns
			}
			rows := []map[string]any{row(1, "a"), row(2, nil)}
			if err := clients.CreateSharded(ctx, left, stock.Rows{Values: rows}, ""); err != nil {
				t.Fatal(err)
			}
			if err := clients.CreateSharded(ctx, right, stock.Rows{Values: test.rows}, ""); err != nil {
				t.Fatal(err)
			}
			c := must[stock.Comparison](t)(clients.Compare(ctx, stock.BaseOf(left), stock.BaseOf(right)))
			if test.want == "" {
				if !c.Equal {
					t.Fatalf("expected equal, got %s", c)
				}
				return
			}
			if c.Equal || len(c.Differences) == 0 || c.Differences[0] != test.want {
				t.Fatalf("expected %q, got %s", test.want, c)
			}
		})
	}
}
