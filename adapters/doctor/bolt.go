package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// Bolt tries out the KV file of one process. The file itself is only read; a file beside it is written.
func Bolt(path string, l lake.Lake) []Check {
	return []Check{
		one(func(ctx context.Context) Finding { return besideFile(ctx, path) }),
		one(func(ctx context.Context) Finding { return fileBelongs(ctx, path, l) }),
	}
}

// besideFile makes a KV where the file is or is going to be.
func besideFile(ctx context.Context, path string) Finding {
	const check, hint = "kv", "see that this process may write there, and that the disk is not full"
	at := filepath.Dir(path)
	if _, err := os.Stat(at); errors.Is(err, os.ErrNotExist) {
		at = filepath.Dir(at) // where the first process makes its folder
	}
	folder, err := os.MkdirTemp(at, ".sluice-doctor-")
	if err != nil {
		return failed(check, hint, err)
	}
	defer os.RemoveAll(folder)
	store, err := bolt.Open(ctx, filepath.Join(folder, "state.db"))
	if err != nil {
		return failed(check, hint, err)
	}
	f := transacts(ctx, store)
	if err := store.Close(); err != nil && f.Verdict == OK {
		return failed(check, hint, err)
	}
	return f
}

// fileBelongs looks into the file, if there is one.
func fileBelongs(ctx context.Context, path string, l lake.Lake) Finding {
	const check = "kv-of-lake"
	if l == nil {
		return warning(check, "give a lake that can be opened", "not looked at")
	}
	value, known, err := bolt.Peek(ctx, path, core.KVKey())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return withoutFile(ctx, path, l)
	case errors.Is(err, bolt.ErrInUse):
		return warning(check, "stop that process to have it looked at", "a sluice process serves this lake with %s", path)
	case err != nil:
		return failed(check, "put the file back from a copy, or move it away and run sluice adopt for each table", err)
	case !known:
		return claimed(ctx, l, "", false)
	}
	record, err := core.Decode[core.KVRecord](core.KVKey(), value)
	if err == nil && record.Lake != l.URI() {
		err = fmt.Errorf("%s serves the lake %s, not %s", path, record.Lake, l.URI())
	}
	if err != nil {
		return failed(check, "a lake has one KV, and a KV one lake: was one of them moved or copied?", err)
	}
	return claimed(ctx, l, record.ID, true)
}

// withoutFile is fine for a lake that nobody has used.
func withoutFile(ctx context.Context, path string, l lake.Lake) Finding {
	f := claimed(ctx, l, "", false)
	if owner, err := lake.ClaimedBy(ctx, l); err == nil {
		return failed(f.Check, "if that is an etcd, name it by --kv; if it was this file, put it back from a copy",
			fmt.Errorf("the lake belongs to the KV %s, and there is no %s", owner, path))
	}
	return f
}
