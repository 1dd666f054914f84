package lake_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

func TestTablesAreFoundByTheirFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{
		"events.lance/_versions/1.manifest", "db/a/b.lance/data/x", "db/z.lance/x",
		"events.lance/_mem_wal/s/inner.lance/x", // within a table
		"_sluice/x/events.lance/1",              // ours
		"file.lance", "db/notes.txt", "db/.lance/x", `db/a\b.lance/x`,
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "events.lance"), filepath.Join(dir, "twice.lance")); err != nil {
		t.Fatal(err)
	}
	got, err := lake.Tables(t.Context(), open(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if want := []core.Target{"db/a/b", "db/z", "events"}; !slices.Equal(got, want) {
		t.Errorf("expected %v, got %v", want, got)
	}
}
