package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/sluice-data/sluice/core"
)

var (
	// ErrInUse says that another process holds the file.
	ErrInUse = errors.New("in use by another sluice process")
	// ErrDamaged says that the file is not, or no longer, a KV that this program can read.
	ErrDamaged = errors.New("damaged, or no KV file")
)

// Open opens the KV in the file at path and makes an empty one if there is no such file; its directory
// must exist. It removes what dead processes had leased.
//
// It never waits: a file that another process holds fails at once with [ErrInUse]. A file that is cut
// off, torn or of another program fails with [ErrDamaged] and is left as it is. Every record is read
// once, so that damage shows here and not in the middle of a merge.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open KV file %s: %w", path, err)
	}
	s := &Store{path: path, turn: make(chan struct{}, 1)}
	s.alive, s.end = context.WithCancelCause(context.Background())
	var file *os.File
	err := survivingDamage(func() (err error) {
		s.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			// One try: bbolt gives up when the next one would come after the timeout.
			Timeout:      time.Nanosecond,
			FreelistType: bbolt.FreelistMapType,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, mode)
				file = f
				return f, err
			},
		})
		if err != nil {
			return err
		}
		return s.start()
	})
	if err != nil {
		s.abandon(file)
		return nil, explain(path, err)
	}
	// The name of a new file must be as durable as what is in it.
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("open KV file %s: %w", path, err), s.Close())
	}
	return s, nil
}

// start checks the whole file, lays out a new one, and ends the leases of dead processes.
func (s *Store) start() error {
	if err := s.checkLength(); err != nil {
		return err
	}
	var rev core.Revision
	err := s.db.Update(func(tx *bbolt.Tx) error {
		if err := layOut(tx); err != nil {
			return err
		}
		if err := endLeases(tx); err != nil {
			return err
		}
		var err error
		rev, err = revision(tx)
		return err
	})
	s.changes = newChanges(rev)
	return err
}

// checkLength looks for a file that was cut off: reading beyond its end would be a fault.
func (s *Store) checkLength() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	return s.db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("%w: it has %d bytes of %d", ErrDamaged, info.Size(), tx.Size())
		}
		return nil
	})
}

// layOut makes the buckets of a file that has none, and refuses one with another format.
func layOut(tx *bbolt.Tx) error {
	if k, _ := tx.Cursor().First(); k == nil {
		if _, err := tx.CreateBucket(recordsBucket); err != nil {
			return err
		}
		if _, err := tx.CreateBucket(metaBucket); err != nil {
			return err
		}
		if err := setNumber(tx, formatKey, fileFormat); err != nil {
			return err
		}
		return setRevision(tx, firstRevision)
	}
	if tx.Bucket(metaBucket) == nil || tx.Bucket(recordsBucket) == nil {
		return fmt.Errorf("%w: it is a bbolt file of another program", ErrDamaged)
	}
	format, err := number(tx, formatKey)
	if err == nil && format != fileFormat {
		return fmt.Errorf("%w: it has file format %d, this program reads %d", ErrDamaged, format, fileFormat)
	}
	return err
}

// survivingDamage turns what bbolt does on a torn file into an error: it panics on a page that makes no
// sense, and following a pointer out of the file is a fault.
func survivingDamage(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, broken)
		}
	}()
	return do()
}

// abandon lets go of a file that could not be opened. NB: after a panic bbolt may still hold locks of its
// own, so it is not asked to close; closing the file is what ends the lock on it.
func (s *Store) abandon(file *os.File) {
	s.end(nil)
	if file != nil {
		_ = file.Close() // bbolt has closed it already, or nothing was written
	}
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// explain says in one line what is wrong with the file and what to do.
func explain(path string, err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("open KV file %s: %w: it serves this lake: stop it, or talk to it (--http)", path, ErrInUse)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open KV file %s: make its directory first, or choose another file (--kv): %w", path, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("open KV file %s: sluice must be able to write it, look at its owner and mode: %w", path, err)
	case errors.As(err, &number):
		return fmt.Errorf("open KV file %s: %w", path, err)
	case !errors.Is(err, ErrDamaged):
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("open KV file %s: put back a good copy, or move it away and run `sluice adopt` for each table: %w",
		path, err)
}
