// Package scratch gives a process a private directory for what it needs while it lives, and removes those
// of processes that died without removing theirs.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Dir is a private directory. Its owner holds a lock in it for as long as it lives, so that everybody can
// tell a dead process's directory from a living one's, also across containers that number their processes
// each for itself.
type Dir struct {
	path string
	lock *os.File
}

// lockName is the file in a directory that its owner has locked.
const lockName = ".lock"

// settling is how young a directory is left alone: its owner may not have locked it yet.
const settling = time.Minute

// New makes a directory named sluice-<kind>-… below parent (or the system's place for temporary files), and
// first removes those of the same kind whose owner is dead. Close removes it.
func New(parent, kind string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweep(parent, kind, time.Now())
	path, err := os.MkdirTemp(parent, "sluice-"+kind+"-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the scratch directory %s: %w", path, err), os.RemoveAll(path))
	}
	return &Dir{path, lock}, nil
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// Close removes the directory with everything in it. It is safe to call twice.
func (d *Dir) Close() error {
	if err := os.RemoveAll(d.path); err != nil {
		return fmt.Errorf("remove the scratch directory: %w", err)
	}
	_ = d.lock.Close() // nothing was written to it
	return nil
}

// sweep removes the directories of dead owners. What can't be removed is somebody else's, and stays.
func sweep(parent, kind string, now time.Time) {
	found, _ := filepath.Glob(filepath.Join(parent, "sluice-"+kind+"-*"))
	for _, path := range found {
		if st, err := os.Lstat(path); err != nil || !st.IsDir() || now.Sub(st.ModTime()) < settling {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = lock.Close()
	}
}
