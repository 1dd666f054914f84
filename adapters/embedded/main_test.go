package embedded_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/stock"
)

// clients and python are shared by the tests: importing pylance and LanceDB takes longer than any of them.
var (
	clients *stock.Clients
	python  string
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVariable); spec != "" {
		os.Exit(beChild(spec))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	// These tests wait for limits and processes more than they compute.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		f.Value.Set("8")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if python, err = engine.FindPython(ctx, ""); err == nil {
		clients, err = stock.Start(ctx, python)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer clients.Close()
	return m.Run()
}
