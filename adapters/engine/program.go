package engine

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-data/sluice/adapters/scratch"
)

// NB: the patterns name .py files, so that no compiled file of a developer's Python gets in.
//
//go:embed python/__main__.py python/sluice_engine/*.py
var program embed.FS

// extract writes the embedded program into a new directory that only this user can read, under parent (or
// the system's place for temporary files). The caller closes it.
func extract(parent string) (*scratch.Dir, error) {
	root, err := scratch.New(parent, "engine")
	if err != nil {
		return nil, fmt.Errorf("extract engine: %w", err)
	}
	err = fs.WalkDir(program, "python", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(root.Path(), path)
		if d.IsDir() {
			return os.Mkdir(to, 0o700)
		}
		text, err := program.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("extract engine to %s: %w", root.Path(), err), root.Close())
	}
	return root, nil
}
