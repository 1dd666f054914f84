package stock

import (
	"context"
	"fmt"
	"strings"
)

// Versions are those of the Python and of the clients in it.
type Versions struct {
	Python  string `json:"python"`
	Pylance string `json:"pylance"`
	LanceDB string `json:"lancedb"`
}

// Source is a set of rows to compare: a file or a table as it is now.
type Source struct {
	File  string `json:"file,omitempty"`
	Read  string `json:"read,omitempty"`
	Table *Table `json:"table,omitempty"`
}

// File is the rows in an Arrow file: a writers' record, or what [Clients.View] or [Clients.Base] saved.
func File(path string) Source { return Source{File: path} }

// ViewOf is the LSM view of a table by pylance's scanner: the base and the SSTables above its marks.
func ViewOf(t Table) Source { return Source{Read: "view", Table: &t} }

// LanceDBViewOf is the LSM view of a table as LanceDB shows it.
func LanceDBViewOf(t Table) Source { return Source{Read: "lancedb", Table: &t} }

// BaseOf is the base of a table alone.
func BaseOf(t Table) Source { return Source{Read: "base", Table: &t} }

// Comparison is the result of Compare. Differences are the first few, for people.
type Comparison struct {
	Equal       bool     `json:"equal"`
	LeftRows    int      `json:"left_rows"`
	RightRows   int      `json:"right_rows"`
	Differences []string `json:"differences"`
}

// String is one line: how many rows are equal, or what differs.
func (c Comparison) String() string {
	if c.Equal {
		return fmt.Sprintf("%d rows, equal", c.LeftRows)
	}
	return fmt.Sprintf("%d and %d rows, not equal: %s", c.LeftRows, c.RightRows, strings.Join(c.Differences, "; "))
}

// Versions asks which clients these are.
func (c *Clients) Versions(ctx context.Context) (Versions, error) {
	var v Versions
	return v, c.Do(ctx, "versions", struct{}{}, &v)
}

// State reads the shard manifests and the marks of the base.
func (c *Clients) State(ctx context.Context, t Table) (State, error) {
	var s State
	return s, c.Do(ctx, "state", readArgs{Table: t}, &s)
}

// View reads the LSM view by pylance's scanner, sorted by key, and saves it to out if that is not empty.
func (c *Clients) View(ctx context.Context, t Table, out string) (Contents, error) {
	var found Contents
	return found, c.Do(ctx, "view", readArgs{Table: t, Out: out}, &found)
}

// LanceDBView reads the LSM view by LanceDB.
func (c *Clients) LanceDBView(ctx context.Context, t Table, out string) (Contents, error) {
	var found Contents
	return found, c.Do(ctx, "lancedb-view", readArgs{Table: t, Out: out}, &found)
}

// Base reads the base table alone; version 0 is the newest.
func (c *Clients) Base(ctx context.Context, t Table, version uint64, out string) (Contents, error) {
	var found Contents
	return found, c.Do(ctx, "base", readArgs{Table: t, Version: version, Out: out}, &found)
}

// Row reads the rows with one key from the view or the base: none, one, or a mistake of somebody.
func (c *Clients) Row(ctx context.Context, from Source, key ...any) ([]map[string]any, error) {
	var found struct {
		Values []map[string]any `json:"values"`
	}
	args := map[string]any{"table": from.Table, "source": from.Read, "where": key}
	return found.Values, c.Do(ctx, "rows", args, &found)
}

// Compare compares two sources row by row and value by value, matched by key (`id` if none is named).
func (c *Clients) Compare(ctx context.Context, left, right Source, key ...string) (Comparison, error) {
	var result Comparison
	args := map[string]any{"left": left, "right": right, "key": key}
	return result, c.Do(ctx, "compare", args, &result)
}

type readArgs struct {
	Table   Table  `json:"table"`
	Out     string `json:"out,omitempty"`
	Version uint64 `json:"version,omitempty"`
}
