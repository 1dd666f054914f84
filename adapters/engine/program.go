package engine

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NB: the patterns name .py files, so that no compiled file of a developer's Python gets in.
//
//go:embed python/__main__.py python/sluice_engine/*.py
var program embed.FS

// extract writes the embedded program into a new directory that only this user can read, under dir (or the
// system's place for temporary files). The caller removes it.
func extract(dir string) (string, error) {
	root, err := os.MkdirTemp(dir, "sluice-engine-")
	if err != nil {
		return "", fmt.Errorf("extract engine: %w", err)
	}
	err = fs.WalkDir(program, "python", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(root, path)
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
		os.RemoveAll(root)
		return "", fmt.Errorf("extract engine to %s: %w", root, err)
	}
	return root, nil
}
