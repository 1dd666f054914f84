package lake_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
)

func TestDeletingATablesLastFileLeavesNoEmptyFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := lake.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, key := range []string{"db/t.lance/_versions/1.manifest", "db/t.lance/data/a.lance"} {
		if err := l.PutIfAbsent(t.Context(), key, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Delete(t.Context(), "db/t.lance/data/a.lance"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "db/t.lance/_versions/1.manifest")); err != nil {
		t.Fatalf("expected the other file to stay: %v", err)
	}
	if err := l.Delete(t.Context(), "db/t.lance/_versions/1.manifest"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "db/t.lance")); !os.IsNotExist(err) {
		t.Fatalf("expected no folder of the table, got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "db")); err != nil {
		t.Fatalf("expected the folder above the table to stay: %v", err)
	}
}
