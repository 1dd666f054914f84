package stock

import (
	"embed"
	"fmt"
	"os"
)

//go:embed python/stock/*.py
var program embed.FS

// unpack writes the Python package to a new private directory and returns it.
func unpack() (string, error) {
	dir, err := os.MkdirTemp("", "sluice-stock-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the stock clients: %w", err)
	}
	if err := os.CopyFS(dir, program); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("unpack the stock clients to %s: %w", dir, err)
	}
	return dir, nil
}
