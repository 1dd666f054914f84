package lake

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/sluice-data/sluice/guard"
)

// temporaryPrefix begins the name of every file that is on its way to its real name. It stands in the same
// directory, because only there is a link sure to be possible. Lance takes a file for a manifest by the end
// of its name, and ours never ends so: a file that a crash leaves behind is seen by nobody.
const temporaryPrefix = ".sluice-tmp-"

func isTemporary(name string) bool { return strings.HasPrefix(name, temporaryPrefix) }

// PutIfAbsent implements [Lake] by link(2), which is the one call that both fails if the name is taken and
// shows the whole body or nothing. (The design that was rejected: look whether the name is free, then
// rename. Another process that commits in between is overwritten, and no later check can tell.)
func (l *Local) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	if CheckKey(key) == nil {
		// Only to save writing a body in vain; the link decides.
		if _, err := l.root.Lstat(key); err == nil {
			return fmt.Errorf("put %s: %w", key, ErrExists)
		}
	}
	tmp, err := l.stage(ctx, key, body)
	if err != nil {
		return err
	}
	defer l.discard(tmp)
	if guard.Out(guard.PutIfAbsent) {
		return l.root.Rename(tmp, key)
	}
	if err := l.root.Link(tmp, key); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("put %s: %w", key, ErrExists)
		}
		return explain("put", key, err)
	}
	// From here on others can see it. A failure to make the name durable leaves it unknown whether it
	// will be there after a crash.
	return l.syncDir(key)
}

// Put implements [Lake] by rename(2).
func (l *Local) Put(ctx context.Context, key string, body []byte) error {
	tmp, err := l.stage(ctx, key, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := l.root.Rename(tmp, key); err != nil {
		l.discard(tmp)
		return explain("put", key, err)
	}
	return l.syncDir(key)
}

// stage writes the body to a temporary file beside the key and makes it durable. Nothing is published yet,
// so every failure of it is [ErrNotTried].
func (l *Local) stage(ctx context.Context, key string, body io.Reader) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("%w: %w", explain("put", key, err), ErrNotTried)
	}
	if err := l.check(ctx, key); err != nil {
		return fail(err)
	}
	if isTemporary(path.Base(key)) {
		return fail(errors.New("such names are kept for temporary files"))
	}
	tmp := path.Join(path.Dir(key), temporaryPrefix+rand.Text())
	f, err := l.create(tmp)
	if err != nil {
		return fail(err)
	}
	_, err = io.Copy(f, body)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close(), ctx.Err())
	if err != nil {
		l.discard(tmp)
		return fail(err)
	}
	return tmp, nil
}

// create makes a file and its folder. A delete may remove the folder in between, while it is empty; then it is
// made again.
func (l *Local) create(key string) (f *os.File, err error) {
	for range 3 {
		if err = l.makeDir(path.Dir(key)); err != nil {
			continue
		}
		f, err = l.root.OpenFile(key, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return f, err
}

// discard removes a temporary file. One that stays is in nobody's way.
func (l *Local) discard(tmp string) { _ = l.root.Remove(tmp) }

// makeDir makes a key's directory and makes the new names durable, top down: a manifest that is durable in
// a directory that is not would be gone after a crash.
func (l *Local) makeDir(dir string) error {
	if st, err := l.root.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	if parent := path.Dir(dir); parent != dir {
		if err := l.makeDir(parent); err != nil {
			return err
		}
	}
	if err := l.root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.syncDir(dir)
}

// syncDir makes a name in its directory durable.
func (l *Local) syncDir(key string) error {
	d, err := l.root.Open(path.Dir(key))
	if err != nil {
		return explain("sync the directory of", key, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return explain("sync the directory of", key, err)
	}
	return nil
}
