package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/core"
)

func init() { roles["full"] = fillUp }

// TestAFullDiskStopsWritesUntilThereIsRoom runs in a child, whose limit of file sizes is the full disk.
func TestAFullDiskStopsWritesUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childKey+"=full "+path)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := read(t, open(t, path)); len(got.Records) != 2 || got.Records[1].Key != "k/room" {
		t.Errorf("got %d records at %d, want the one from before and the one from after", len(got.Records), got.Revision)
	}
}

func fillUp(path string) error {
	ctx := context.Background()
	s, err := bolt.Open(ctx, path)
	if err != nil {
		return err
	}
	commit := func(key, value string) (core.Outcome, core.Revision, error) {
		answer, err := s.Commit(ctx, core.Txn{Name: key, Then: []core.Op{core.Put(key, value)}})
		return answer.Outcome, answer.Revision, err
	}
	_, before, err := commit("k/before", "1")
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	var free unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	for _, full := range []struct {
		name  string
		size  int64
		value string
	}{
		{"the file can't grow", info.Size(), strings.Repeat("v", 1<<20)},
		{"a page can't be written", 2 * int64(os.Getpagesize()), "1"},
	} {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(full.size), Max: free.Max}); err != nil {
			return err
		}
		for range 3 {
			outcome, _, err := commit("k/full", full.value)
			if err == nil || !strings.Contains(err.Error(), syscall.EFBIG.Error()) || outcome != core.Unknown {
				return fmt.Errorf("%s: got %v and error %w", full.name, outcome, err)
			}
		}
	}
	// Unknown is resolved by reading.
	snapshot, err := s.Read(ctx, core.Prefixed("k/"))
	if err != nil || len(snapshot.Records) != 1 || snapshot.Revision != before {
		return fmt.Errorf("read from a full disk: got %v at %d: %w", snapshot.Records, snapshot.Revision, err)
	}
	watch := s.Watch(ctx, core.Prefixed("k/"), before)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	_, after, err := commit("k/room", "1")
	if err != nil || after != before+1 {
		return fmt.Errorf("commit once there is room: got revision %d after %d: %w", after, before, err)
	}
	if b := <-watch; b.Revision != after || len(b.Puts) != 1 {
		return fmt.Errorf("watch once there is room: got %+v", b)
	}
	return s.Close()
}

// TestAReadOnlyFileIsRefused opens it as another user, since root may write what it likes.
func TestAReadOnlyFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{path: 0o400, dir: 0o755, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() {
		// The user of file accesses is the thread's own. NB: the thread is never unlocked, so it ends
		// with this goroutine.
		runtime.LockOSThread()
		const nobody = 65534
		_ = unix.Setfsuid(nobody) // who isn't root can't, and needn't
		s, err := bolt.Open(context.Background(), path)
		if err == nil {
			err = errors.Join(errors.New("it was opened"), s.Close())
		}
		done <- err
	}()
	if err := <-done; !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "owner and mode") {
		t.Errorf("got error %v", err)
	}
}
