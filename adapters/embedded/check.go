package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// CheckLake says why [Open] would refuse the lake, and unlike Open it changes nothing to find out: not a
// byte of a lake that belongs to somebody else is touched.
func CheckLake(ctx context.Context, l *lake.Local) error {
	if err := lake.CheckAbove(ctx, l); err != nil {
		return err
	}
	folder := filepath.Join(l.Dir(), Folder)
	if st, err := os.Stat(folder); err == nil && !st.IsDir() {
		return fmt.Errorf("%s is no directory, but Sluice keeps its files there: move it away", folder)
	}
	claimed, err := lake.ClaimedBy(ctx, l)
	if err != nil && !errors.Is(err, lake.ErrNotExist) {
		return err
	}
	state := filepath.Join(folder, StateFile)
	_, err = os.Stat(state)
	switch {
	case errors.Is(err, os.ErrNotExist) && claimed == "":
		return nil // nobody's: Open makes it ours
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("lake %s belongs to the KV %s, but its state file %s is gone: put it back from a copy; if there is none, and no other process serves this lake, remove %s and run `sluice adopt` for each table",
			l.Dir(), claimed, state, filepath.Join(l.Dir(), filepath.FromSlash(lake.ClaimKey)))
	case err != nil:
		return fmt.Errorf("look for the state of lake %s: %w", l.Dir(), err)
	}
	return checkState(ctx, l, state, claimed)
}

// checkState compares the state file with the lake that it lies in.
func checkState(ctx context.Context, l *lake.Local, state, claimed string) error {
	raw, ok, err := bolt.Peek(ctx, state, core.KVKey())
	switch {
	case err != nil:
		return err
	case !ok && claimed != "":
		return fmt.Errorf("lake %s belongs to the KV %s, but its state file %s is empty: put it back from a copy", l.Dir(), claimed, state)
	case !ok:
		return nil
	}
	ours, err := core.Decode[core.KVRecord](core.KVKey(), raw)
	switch {
	case err != nil:
		return err
	case claimed != "" && claimed != ours.ID:
		return &lake.OtherKVError{Where: filepath.Join(l.Dir(), filepath.FromSlash(lake.ClaimKey)), KV: claimed, Ours: ours.ID}
	case ours.Lake != l.URI():
		return fmt.Errorf("state file %s belongs to the lake %s: this lake was moved or copied; move it back, or remove %s and run `sluice adopt` for each table",
			state, ours.Lake, filepath.Join(l.Dir(), Folder))
	}
	return nil
}

// CheckTable says why a table can't be merged at all, from its manifests alone. What is pending but can't be
// merged now is no reason, unless nothing else is: an SSTable whose folder is missing stops its own shard.
func CheckTable(ctx context.Context, l lake.Lake, t core.Target) error {
	table, err := readAdoptable(ctx, l, t)
	if err != nil {
		return err
	}
	var missing error
	for _, s := range table.Shards {
		pending := table.Pending(s)
		if len(pending) == 0 {
			continue
		}
		f, err := missingIn(ctx, l, t, s.Shard, pending)
		switch {
		case err != nil:
			return err
		case f.OK():
			return nil
		}
		missing = f
	}
	return missing
}

// missingIn looks whether every SSTable has its folder.
func missingIn(ctx context.Context, l lake.Lake, t core.Target, s core.ShardID, pending []core.SSTable) (core.Failure, error) {
	for _, st := range pending {
		folder := lance.ShardsFolder(t) + string(s) + "/" + st.Path + "/"
		level, err := l.Children(ctx, folder)
		if err != nil {
			return core.Failure{}, err
		}
		if len(level.Objects)+len(level.Folders) == 0 {
			return core.Failure{
				Code: core.CodeSSTableMissing, Shard: s, Generation: st.Generation,
				Detail: fmt.Sprintf("generation %d of shard %s of %s is pending, but its SSTable %s is not there: put it back from a copy", st.Generation, s, t, folder),
			}, nil
		}
	}
	return core.Failure{}, nil
}

// CheckAdoptable says why a table can't be adopted, from its manifests alone.
func CheckAdoptable(ctx context.Context, l lake.Lake, t core.Target) error {
	_, err := readAdoptable(ctx, l, t)
	return err
}

func readAdoptable(ctx context.Context, l lake.Lake, t core.Target) (core.Table, error) {
	table, err := lance.ReadTable(ctx, l, t)
	if err != nil {
		return core.Table{}, err
	}
	if f := core.Adoptable(table); !f.OK() {
		f.Detail = string(t) + ": " + f.Detail
		return core.Table{}, f
	}
	return table, nil
}
