package stock_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/stock"
)

func TestTheClientsAreTheLockedOnes(t *testing.T) {
	t.Parallel()
	v := must[stock.Versions](t)(clients.Versions(t.Context()))
	if v.Pylance != "14.0.2" || v.LanceDB != "0.40.0" {
		t.Fatalf("expected pylance 14.0.2 and lancedb 0.40.0, found %+v: run `make .venv`", v)
	}
}

func TestAnUnknownOperationIsAnError(t *testing.T) {
	t.Parallel()
	var raised *stock.Error
	if err := clients.Do(t.Context(), "nothing", struct{}{}, nil); !errors.As(err, &raised) || raised.Type != "KeyError" {
		t.Fatalf("expected a KeyError, got %v", err)
	}
}

func TestARequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := clients.Versions(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("expected an answer or context.Canceled, got %v", err)
	}
}

func TestKilledClientsAnswerEveryRequestWithAnError(t *testing.T) {
	t.Parallel()
	path := must[string](t)(python())
	killed := must[*stock.Clients](t)(stock.Start(t.Context(), path))
	answer := make(chan error, 1)
	go func() {
		answer <- killed.BenchSetup(t.Context(), stock.Table{URI: filepath.Join(t.TempDir(), "t.lance")}, 0, 0, 0)
	}()
	killed.Kill()
	if err := <-answer; !errors.Is(err, stock.ErrEnded) {
		t.Fatalf("expected ErrEnded for the running request, got %v", err)
	}
	if _, err := killed.Versions(t.Context()); !errors.Is(err, stock.ErrEnded) {
		t.Fatalf("expected ErrEnded for the next request, got %v", err)
	}
	if err := killed.Close(); err != nil {
		t.Fatalf("close after the end: %v", err)
	}
}

func TestAPythonWithoutTheClientsIsNamed(t *testing.T) {
	t.Parallel()
	_, err := stock.Start(t.Context(), "/no/such/python")
	if err == nil || !strings.Contains(err.Error(), "/no/such/python") {
		t.Fatalf("expected an error that names the Python, got %v", err)
	}
}

func TestTheBenchLoopMergesTheTableThatBenchSetupMade(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	table, _ := newTable(t, "bench")
	if err := clients.BenchSetup(ctx, table, 1000, 3, 20); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "view")
	if view := must[stock.Contents](t)(clients.View(ctx, table, saved)); view.Rows != 1030 {
		t.Fatalf("expected 1,000 rows and 30 new ones in the view, found %d", view.Rows)
	}
	if _, err := clients.BenchLoop(ctx, table); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, stock.File(saved), stock.BaseOf(table))
}
