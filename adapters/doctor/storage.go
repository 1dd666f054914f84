package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-data/sluice/adapters/lake"
)

// ours is the one folder of a lake in which anything of Sluice's lies.
const ours = "_sluice"

// Lake tries out a lake. Everything it puts lies in folders of its own, and is removed again. Where nothing can
// be put at all, nothing more is tried.
func Lake(l lake.Lake) Check {
	return func(ctx context.Context) (out []Finding) {
		first, usable := putIfAbsent(ctx, l)
		out = append(out, first)
		if !usable {
			return out
		}
		for _, try := range []func(context.Context, lake.Lake, string) Finding{readAfterWrite, listAfterWrite, lakeClock} {
			out = append(out, swept(ctx, l, try))
		}
		return out
	}
}

// swept makes a check in a new folder, and removes what it has put there.
func swept(ctx context.Context, l lake.Lake, try func(context.Context, lake.Lake, string) Finding) Finding {
	folder := ours + "/doctor-" + rand.Text() + "/"
	sweep := sweeper(l, folder)
	f := try(ctx, l, folder)
	// The caller may have given up; what was put must go all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := sweep(ctx); err != nil && f.Verdict == OK {
		return failed(f.Check, "remove "+folder+" from the lake, and allow this process to delete",
			fmt.Errorf("what was put can't be removed: %w", err))
	}
	return f
}

// sweeper removes what lies under the folder. In a directory also the folders, which a bucket doesn't have.
func sweeper(l lake.Lake, folder string) func(context.Context) error {
	directory := ""
	if d, ok := l.(interface{ Dir() string }); ok {
		directory = d.Dir()
	}
	_, before := os.Stat(filepath.Join(directory, ours))
	return func(ctx context.Context) error {
		infos, err := l.List(ctx, folder)
		for _, info := range infos {
			err = errors.Join(err, l.Delete(ctx, info.Key))
		}
		if directory == "" {
			return err
		}
		// Depth first, and only folders that are empty: os.Remove removes no other.
		var folders []string
		_ = filepath.WalkDir(filepath.Join(directory, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		slices.Reverse(folders)
		for _, path := range folders {
			err = errors.Join(err, os.Remove(path))
		}
		if errors.Is(before, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(directory, ours)) // unless somebody has begun to work here
		}
		return err
	}
}

// putIfAbsent is the one operation that decides everything, as a worker tries it out at its start. usable says
// that the lake can be written at all.
func putIfAbsent(ctx context.Context, l lake.Lake) (f Finding, usable bool) {
	const check = "put-if-absent"
	// The probe removes its objects; the folder that it may have made for them is left to us.
	sweep := sweeper(l, ours+"/doctor-"+rand.Text()+"/")
	err := lake.Probe(ctx, l)
	err = errors.Join(err, sweep(context.WithoutCancel(ctx)))
	switch {
	case errors.Is(err, lake.ErrUnsafe):
		return failed(check, "use a store that keeps If-None-Match on PUT, or a file system with hard links; no worker runs a merge on this one",
			err), true
	case errors.Is(err, lake.ErrDenied):
		return failed(check, "allow this process to read, list, write and delete under the lake", err), false
	case err != nil:
		return failed(check, "see that the lake can be reached and written from here", err), false
	}
	return passed(check, "of many puts of one name exactly one wins, and its body stays"), true
}

// rounds is how often a write is read back and listed; a store that is late is late now and then.
const rounds = 8

// readAfterWrite asks for a name before it exists, so that a store that remembers "absent" shows it.
func readAfterWrite(ctx context.Context, l lake.Lake, folder string) Finding {
	const check, hint = "read-after-write", "use a lake that shows each write at once: no cache before it, no eventual consistency"
	unseen := func(format string, args ...any) Finding { return failed(check, hint, fmt.Errorf(format, args...)) }
	begun := time.Now()
	for i := range rounds {
		key := folder + "read-" + strconv.Itoa(i)
		if _, err := l.Head(ctx, key); !errors.Is(err, lake.ErrNotExist) {
			return unseen("a name that was never put: %v, expected that there is none", err)
		}
		for _, body := range []string{"first " + rand.Text(), "second " + rand.Text()} {
			if err := l.Put(ctx, key, []byte(body)); err != nil {
				return failed(check, "see that this process may write to the lake", err)
			}
			got, err := l.Get(ctx, key)
			if err != nil {
				return unseen("what was just put can't be read: %w", err)
			}
			if string(got) != body {
				return unseen("an older object was read than the one that was just put")
			}
		}
		if err := l.Delete(ctx, key); err != nil {
			return failed(check, "see that this process may delete from the lake", err)
		}
		if _, err := l.Head(ctx, key); !errors.Is(err, lake.ErrNotExist) {
			return unseen("what was just deleted is still there (%v)", err)
		}
	}
	// A round is seven requests.
	return passed(check, "%d objects read as they were put, %v a request",
		2*rounds, (time.Since(begun) / (7 * rounds)).Round(10*time.Microsecond))
}

// tricky are names that a store sorts differently if it sorts by folder, by letter or by number.
// "a" is none of them: in a directory it can't be a file beside "a/b".
var tricky = []string{"B", "a-b", "a.b", "a/b", "a0", "10", "9", "ä", "zz/1/2"}

// listAfterWrite lists after each put and each delete, and looks at the order.
func listAfterWrite(ctx context.Context, l lake.Lake, folder string) Finding {
	const check, hint = "list-after-write", "use a lake whose listing shows each write at once, in the order of the keys' bytes"
	unseen := func(format string, args ...any) Finding { return failed(check, hint, fmt.Errorf(format, args...)) }
	var keys []string
	for _, name := range tricky {
		keys = append(keys, folder+name)
		if err := l.Put(ctx, folder+name, []byte(name)); err != nil {
			return failed(check, "see that this process may write to the lake", err)
		}
		if found, err := listed(ctx, l, folder); err != nil {
			return failed(check, "see that this process may list the lake", err)
		} else if !slices.Contains(found, folder+name) {
			return unseen("%q was just put and is not listed", name)
		}
	}
	slices.Sort(keys)
	found, err := listed(ctx, l, folder)
	if err != nil {
		return failed(check, "see that this process may list the lake", err)
	}
	if !slices.Equal(found, keys) {
		return unseen("listed %q, expected %q", found, keys)
	}
	for _, key := range keys {
		if err := l.Delete(ctx, key); err != nil {
			return failed(check, "see that this process may delete from the lake", err)
		}
	}
	if found, err = listed(ctx, l, folder); err != nil || len(found) > 0 {
		return unseen("%q were just deleted and are still listed (%v)", found, err)
	}
	return passed(check, "%d objects listed at once, in the order of their keys", len(keys))
}

// listed are the keys under a folder, in the store's own order where the lake shows that.
func listed(ctx context.Context, l lake.Lake, folder string) ([]string, error) {
	if own, is := l.(interface {
		Listed(context.Context, string) ([]string, error)
	}); is {
		return own.Listed(ctx, folder)
	}
	infos, err := l.List(ctx, folder)
	keys := make([]string, len(infos))
	for i, info := range infos {
		keys[i] = info.Key
	}
	return keys, err
}

// Opened says whether the lake could be opened at all.
func Opened(err error) Check {
	return one(func(context.Context) Finding {
		if err != nil {
			return failed("lake", "correct --lake", err)
		}
		return passed("lake", "it can be opened")
	})
}
