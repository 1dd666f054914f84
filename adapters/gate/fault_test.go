package gate_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// faulty is a lake whose calls a test can bend.
type faulty struct {
	lake.Lake
	put  func(ctx context.Context, key string, body io.Reader) error
	open func(ctx context.Context, key string) (io.ReadCloser, lake.Info, error)
	// look, if set, is called before a folder is listed.
	look func(folder string)
}

func (f *faulty) Children(ctx context.Context, folder string) (lake.Children, error) {
	if f.look != nil {
		f.look(folder)
	}
	return f.Lake.Children(ctx, folder)
}

func (f *faulty) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	if f.put == nil {
		return f.Lake.PutIfAbsent(ctx, key, body)
	}
	return f.put(ctx, key, body)
}

func (f *faulty) Open(ctx context.Context, key string) (io.ReadCloser, lake.Info, error) {
	if f.open == nil {
		return f.Lake.Open(ctx, key)
	}
	return f.open(ctx, key)
}

// isCommit reports whether a key is a base manifest of version v of the tests' table.
func isCommit(key string, v core.Version) bool {
	k := core.Classify(key)
	return k.Kind == core.KeyBaseManifest && k.Target == table && k.Manifest.Version == v
}

// candidate is a manifest that may follow the table's newest one n versions on, with its key.
func (w *world) candidate(t *testing.T, n int) (key string, body []byte) {
	t.Helper()
	b, err := lance.ReadNewestBase(t.Context(), w.lake, table)
	if err != nil {
		t.Fatal(err)
	}
	scheme := b.Facts.Scheme
	for range n {
		next, err := b.Successor(lance.Entry{Key: "test", Value: t.Name()}, "00000000-0000-4000-8000-000000000001", 1)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = lance.ParseBase(lance.BaseKey(table, scheme, b.Facts.Version+1), next); err != nil {
			t.Fatal(err)
		}
	}
	return b.Key, b.Encode()
}

// head is the table's newest version, read past the gate.
func (w *world) head(t *testing.T) core.Version {
	t.Helper()
	v, _, err := lance.LatestBase(t.Context(), w.lake, table)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// exists reports whether the lake has a key.
func (w *world) exists(t *testing.T, key string) bool {
	t.Helper()
	_, err := w.lake.Head(t.Context(), key)
	return err == nil
}

// intact checks that pylance reads the table and sees each of n rows once.
func (w *world) intact(t *testing.T, c *client, n int) reply {
	t.Helper()
	r := c.must(t, w.Gate, w.client, "read", table, nil)
	if r.Count != n || len(r.Rows) != n {
		t.Errorf("the table has %d rows with %d keys, want %d of each", r.Count, len(r.Rows), n)
	}
	return r
}

// files are the keys below a folder of the table, read past the gate.
func (w *world) files(t *testing.T, folder string) []string {
	t.Helper()
	all, err := w.lake.List(t.Context(), table.Path()+"/"+folder)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range all {
		if !strings.HasSuffix(i.Key, ".json") {
			out = append(out, i.Key)
		}
	}
	return out
}
