package stock

import "context"

// Append adds rows to the base by plain pylance, past the MemWAL. Like the other methods of this file it
// returns the base version that it made.
func (c *Clients) Append(ctx context.Context, t Table, rows Rows) (uint64, error) {
	return c.change(ctx, "append", map[string]any{"table": t, "rows": rows})
}

// Overwrite replaces the rows of the base. Its MemWAL index goes with them, marks and all.
func (c *Clients) Overwrite(ctx context.Context, t Table, rows Rows) (uint64, error) {
	return c.change(ctx, "overwrite", map[string]any{"table": t, "rows": rows})
}

// Update sets columns of the base to SQL expressions where a condition holds.
func (c *Clients) Update(ctx context.Context, t Table, where string, values map[string]string) (uint64, error) {
	return c.change(ctx, "update", map[string]any{"table": t, "where": where, "values": values})
}

// Delete deletes rows of the base where an SQL condition holds.
func (c *Clients) Delete(ctx context.Context, t Table, where string) (uint64, error) {
	return c.change(ctx, "delete", map[string]any{"table": t, "where": where})
}

// Upsert is somebody's merge_insert into the base; with marks it claims to have taken in those generations.
func (c *Clients) Upsert(ctx context.Context, t Table, rows Rows, marks map[string]uint64) (uint64, error) {
	return c.change(ctx, "upsert", map[string]any{"table": t, "rows": rows, "marks": marks})
}

// MergeScript is somebody's own merge: one commit with its mark for each pending generation of a shard (of
// all shards if it is empty), at most so many generations of each (all if 0).
func (c *Clients) MergeScript(ctx context.Context, t Table, shard string, generations int) (uint64, error) {
	args := map[string]any{"table": t, "generations": generations}
	if shard != "" {
		args["shard"] = shard
	}
	return c.change(ctx, "merge-script", args)
}

// Restore makes an older version the newest again, old marks and all.
func (c *Clients) Restore(ctx context.Context, t Table, version uint64) (uint64, error) {
	return c.change(ctx, "restore", map[string]any{"table": t, "version": version})
}

// Compact rewrites the small data files of the base; it has nothing to do with SSTables.
func (c *Clients) Compact(ctx context.Context, t Table) (uint64, error) {
	return c.change(ctx, "compact", map[string]any{"table": t})
}

// Index makes a BTREE index on a column.
func (c *Clients) Index(ctx context.Context, t Table, column string) (uint64, error) {
	return c.change(ctx, "index", map[string]any{"table": t, "column": column})
}

// SetMetadata writes the table's own metadata; with replace it drops what is there, Sluice's table id too.
func (c *Clients) SetMetadata(ctx context.Context, t Table, values map[string]string, replace bool) (uint64, error) {
	return c.change(ctx, "metadata", map[string]any{"table": t, "values": values, "replace": replace})
}

// Tag gives a version a name.
func (c *Clients) Tag(ctx context.Context, t Table, name string, version uint64) error {
	return c.Do(ctx, "tag", map[string]any{"table": t, "name": name, "version": version}, nil)
}

// Drop drops the table with every file below it; CreateLSM or CreateSharded make another in its place.
func (c *Clients) Drop(ctx context.Context, t Table) error {
	return c.Do(ctx, "drop", map[string]any{"table": t}, nil)
}

func (c *Clients) change(ctx context.Context, op string, args map[string]any) (uint64, error) {
	var made struct {
		Version uint64 `json:"version"`
	}
	return made.Version, c.Do(ctx, op, args, &made)
}
