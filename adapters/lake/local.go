package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Local is a lake in a directory of this machine. See [OpenLocal].
type Local struct {
	root *os.Root // refuses every path that leaves the directory, through symlinks too
	dir  string
	uri  string
}

var (
	_ Lake    = (*Local)(nil)
	_ parents = (*Local)(nil)
)

// OpenLocal opens a directory as a lake. The directory must exist: a lake that appears by a misspelt name
// would be an empty one. Nothing is written.
func OpenLocal(dir string) (*Local, error) {
	if dir == "" {
		return nil, errors.New("no lake given; pass the directory that holds the tables")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open lake %s: %w", dir, err)
	}
	// Symlinks are resolved so that two names of one directory are one lake with one URI.
	real, err := filepath.EvalSymlinks(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("lake %s does not exist; create the directory or correct the path", abs)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("lake %s is not a directory; pass the directory that holds the tables", abs)
	case err != nil:
		return nil, fmt.Errorf("open lake %s: %w", abs, err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return nil, fmt.Errorf("open lake %s: %w", real, err)
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("lake %s is a file; pass the directory that holds the tables", real)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("open lake %s: %w", real, err)
	}
	return &Local{root: root, dir: real, uri: (&url.URL{Scheme: "file", Path: real}).String()}, nil
}

// Close releases the directory. Calls after it fail.
func (l *Local) Close() error { return l.root.Close() }

// Dir is the canonical path of the directory.
func (l *Local) Dir() string { return l.dir }

// URI is "file://" and the canonical path.
func (l *Local) URI() string { return l.uri }

// Get implements [Lake].
func (l *Local) Get(ctx context.Context, key string) ([]byte, error) {
	r, info, err := l.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	body := make([]byte, 0, info.Size+512)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, 512)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, explain("read", key, err)
		}
	}
}

// Open implements [Lake].
func (l *Local) Open(ctx context.Context, key string) (io.ReadCloser, Info, error) {
	if err := l.check(ctx, key); err != nil {
		return nil, Info{}, fmt.Errorf("open %s: %w", key, err)
	}
	f, err := l.root.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, Info{}, explain("open", key, err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotExist // a directory is a prefix of keys, not an object
	}
	if err != nil {
		f.Close()
		return nil, Info{}, explain("open", key, err)
	}
	return f, Info{Key: key, Size: st.Size(), ModTime: st.ModTime()}, nil
}

// Head implements [Lake].
func (l *Local) Head(ctx context.Context, key string) (Info, error) {
	if err := l.check(ctx, key); err != nil {
		return Info{}, fmt.Errorf("look at %s: %w", key, err)
	}
	st, err := l.root.Stat(key)
	if err != nil {
		return Info{}, explain("look at", key, err)
	}
	if !st.Mode().IsRegular() {
		return Info{}, explain("look at", key, ErrNotExist)
	}
	return Info{Key: key, Size: st.Size(), ModTime: st.ModTime()}, nil
}

// Delete implements [Lake].
func (l *Local) Delete(ctx context.Context, key string) error {
	if err := l.check(ctx, key); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	if err := l.root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain("delete", key, err)
	}
	l.removeEmpty(path.Dir(key))
	return nil
}

// removeEmpty removes the folders of a table that a delete has emptied, the table's own too: an object store
// has no empty folders, and a client that lists the directory would take one for a table that is still there.
func (l *Local) removeEmpty(dir string) {
	for ; strings.Contains(dir, ".lance"); dir = path.Dir(dir) {
		if l.root.Remove(dir) != nil { // not empty, in all likelihood
			return
		}
	}
}

// check refuses a key or a call that must not reach the disk.
func (l *Local) check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckKey(key)
}

// explain names what was being done to which key, and adds the sentinel that a caller branches on.
func explain(doing, key string, err error) error {
	switch {
	// NB: ENOTDIR is "a parent of the key is an object", which is no such key.
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s %s: %w", doing, key, ErrNotExist)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s %s: %w: %w", doing, key, ErrDenied, err)
	}
	return fmt.Errorf("%s %s: %w", doing, key, err)
}
