package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// List implements [Lake].
func (l *Local) List(ctx context.Context, folder string) ([]Info, error) {
	var out []Info
	pending := []string{folder}
	for len(pending) > 0 {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		level, err := l.Children(ctx, at)
		if err != nil {
			return nil, err
		}
		for _, name := range level.Folders {
			pending = append(pending, at+name+"/")
		}
		for _, name := range level.Objects {
			info, err := l.Head(ctx, at+name)
			if errors.Is(err, ErrNotExist) {
				continue // deleted since the folder was read
			}
			if err != nil {
				return nil, err
			}
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// Children implements [Lake]. Our own temporary files are not objects and are left out, and so are symlinks:
// one table must not be found under two names.
func (l *Local) Children(ctx context.Context, folder string) (Children, error) {
	if err := ctx.Err(); err != nil {
		return Children{}, fmt.Errorf("list %s: %w", folder, err)
	}
	if err := checkFolder(folder); err != nil {
		return Children{}, fmt.Errorf("list %s: %w", folder, err)
	}
	entries, err := l.readDir(folder)
	if err != nil {
		return Children{}, explain("list", folder, err)
	}
	if err := l.standing(); err != nil {
		return Children{}, err
	}
	var out Children
	for _, e := range entries { // sorted by name
		switch {
		case e.IsDir():
			out.Folders = append(out.Folders, e.Name())
		case e.Type().IsRegular() && !isTemporary(e.Name()):
			out.Objects = append(out.Objects, e.Name())
		}
	}
	return out, nil
}

// readDir reads one directory; one that doesn't exist has no entries.
//
// NB: a directory that the root opens is read with one more call for each name, which takes a tenth of a
// second for 20,000 versions. So the root only checks that the folder lies inside, and [Local.standing]
// that the path still leads to the root.
func (l *Local) readDir(folder string) ([]fs.DirEntry, error) {
	_, err := l.root.Stat(path.Clean(folder))
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(filepath.Join(l.dir, filepath.FromSlash(folder)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// standing checks that the lake's directory was not removed or replaced under us: everything in it would
// seem absent.
func (l *Local) standing() error {
	now, err := os.Stat(l.dir)
	if err != nil {
		return fmt.Errorf("the lake's directory %s is gone: %w", l.dir, err)
	}
	opened, err := l.root.Stat(".")
	if err != nil || !os.SameFile(now, opened) {
		return fmt.Errorf("the lake's directory %s was replaced by another one; restart", l.dir)
	}
	return nil
}
