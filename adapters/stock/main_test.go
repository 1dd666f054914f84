package stock_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/stock"
)

// clients is shared by the tests: importing pylance and LanceDB takes longer than any of them.
var clients *stock.Clients

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path, err := python()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if clients, err = stock.Start(ctx, path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer clients.Close()
	return m.Run()
}

// python is the one that `make .venv` made in the checkout, or SLUICE_PYTHON.
func python() (string, error) {
	if path := os.Getenv("SLUICE_PYTHON"); path != "" {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, ".venv", "bin", "python")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no .venv/bin/python above the test's directory: run `make .venv`")
		}
		dir = parent
	}
}

func newTable(t *testing.T, name string) (table stock.Table, record string) {
	t.Helper()
	dir := t.TempDir()
	return stock.Table{URI: filepath.Join(dir, "db", name+".lance")}, filepath.Join(dir, name+".record")
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func wantEqual(t *testing.T, left, right stock.Source, key ...string) {
	t.Helper()
	if c := must[stock.Comparison](t)(clients.Compare(t.Context(), left, right, key...)); !c.Equal {
		t.Fatalf("%+v and %+v: %s", left, right, c)
	}
}
