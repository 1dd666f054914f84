package stock

import "context"

// CreateLSM makes a table by LanceDB with rows in its base and an LSM write spec of one shard. Where record
// is not empty it names the file that will hold what the view must be (see [File]); an older record of that
// name is begun anew.
func (c *Clients) CreateLSM(ctx context.Context, t Table, rows Rows, record string) error {
	return c.Do(ctx, "create-lancedb", writeArgs{Table: t, Rows: &rows, Record: record}, nil)
}

// WriteLSM inserts and updates rows by LanceDB and seals them: one generation.
func (c *Clients) WriteLSM(ctx context.Context, t Table, rows Rows, record string) (Written, error) {
	var w Written
	return w, c.Do(ctx, "write-lancedb", writeArgs{Table: t, Rows: &rows, Record: record}, &w)
}

// WriteGenerations writes n generations by LanceDB, each of so many rows: half update keys that the record
// holds, half are new. It goes on from the record, over any number of calls.
func (c *Clients) WriteGenerations(ctx context.Context, t Table, n, rows int, record string) (Written, error) {
	var w Written
	return w, c.Do(ctx, "lancedb-generations", generationArgs{t, n, rows, record, ""}, &w)
}

// CreateSharded makes a table by pylance with rows in its base and a MemWAL whose shards are chosen by hand.
func (c *Clients) CreateSharded(ctx context.Context, t Table, rows Rows, record string) error {
	return c.Do(ctx, "create-shard", writeArgs{Table: t, Rows: &rows, Record: record}, nil)
}

// ShardWrite puts rows and then deletes keys through a ShardWriter and seals them: one generation. A nil
// rows only deletes. A key is its value, or a slice of them where it has several columns; an empty shard
// makes a new one.
func (c *Clients) ShardWrite(ctx context.Context, t Table, shard string, rows *Rows, deletes []any, record string) (Written, error) {
	var w Written
	args := writeArgs{Table: t, Rows: rows, Deletes: deletes, Shard: shard, Record: record}
	return w, c.Do(ctx, "write-shard", args, &w)
}

// ShardGenerations writes n generations through a ShardWriter, each of so many rows: new keys, updates,
// deletes, and keys that come back after their delete. It goes on from the record.
func (c *Clients) ShardGenerations(ctx context.Context, t Table, shard string, n, rows int, record string) (Written, error) {
	var w Written
	return w, c.Do(ctx, "shard-generations", generationArgs{t, n, rows, record, shard}, &w)
}

// OpenShard claims a shard as a new writer does, which raises its epoch, and leaves it.
func (c *Clients) OpenShard(ctx context.Context, t Table, shard string) error {
	return c.Do(ctx, "open-shard", writeArgs{Table: t, Shard: shard}, nil)
}

type writeArgs struct {
	Table   Table  `json:"table"`
	Rows    *Rows  `json:"rows,omitempty"`
	Deletes []any  `json:"deletes,omitempty"`
	Shard   string `json:"shard,omitempty"`
	Record  string `json:"record,omitempty"`
}

type generationArgs struct {
	Table       Table  `json:"table"`
	Generations int    `json:"generations"`
	Rows        int    `json:"rows"`
	Record      string `json:"record"`
	Shard       string `json:"shard,omitempty"`
}
