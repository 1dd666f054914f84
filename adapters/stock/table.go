package stock

// Table is a Lance table as its clients address it.
type Table struct {
	// URI is the table's directory: `/lake/db/events.lance` or `s3://lake/db/events.lance`.
	URI string `json:"uri"`
	// StorageOptions reach an S3 endpoint: aws_access_key_id, aws_endpoint, allow_http, timeout, …
	StorageOptions map[string]string `json:"storage_options,omitempty"`
	// Key names the primary key's columns; empty means `id`.
	Key []string `json:"key,omitempty"`
	// Columns are those to make the table with and to write; empty means id, name, score, generation and
	// a vector of eight floats.
	Columns []Column `json:"columns,omitempty"`
}

// Column is a column by Arrow's short name of its type (`int64`, `string`, `float64`) or a vector
// (`float32[8]`).
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Rows says which rows to write: Values as they are, or, without them, generated rows with the keys From to
// before To, whose every other value is made of the key and of Generation.
type Rows struct {
	From       int              `json:"from"`
	To         int              `json:"to"`
	Generation int              `json:"generation"`
	Values     []map[string]any `json:"values,omitempty"`
}

// Written is what a writer did: generations sealed, rows and deletes written in them, rows in the view
// afterwards by its record, and for a ShardWriter the shard.
type Written struct {
	Generations int    `json:"generations"`
	Written     int    `json:"written"`
	Rows        int    `json:"rows"`
	Shard       string `json:"shard"`
}

// State is a table's MemWAL as its files show it.
type State struct {
	Version uint64            `json:"version"` // of the base
	MemWAL  bool              `json:"mem_wal"` // the base has a MemWAL index
	Marks   map[string]uint64 `json:"marks"`   // by shard, the last generation taken into the base
	Shards  []Shard           `json:"shards"`
	Pending map[string][]int  `json:"pending"` // by shard, the generations above its mark
}

// Shard is one shard by its newest manifest.
type Shard struct {
	ID                string    `json:"id"`
	ManifestVersion   uint64    `json:"manifest_version"`
	WriterEpoch       uint64    `json:"writer_epoch"`
	CurrentGeneration uint64    `json:"current_generation"`
	SpecID            uint64    `json:"spec_id"`
	SSTables          []SSTable `json:"sstables"`
}

// SSTable is one flushed generation; Path is the name of its directory below the shard's.
type SSTable struct {
	Generation uint64 `json:"generation"`
	Path       string `json:"path"`
}

// Contents says what a read found: its rows, and the base version it read.
type Contents struct {
	Rows    int    `json:"rows"`
	Version uint64 `json:"version"`
}
