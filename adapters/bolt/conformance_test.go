package bolt_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/kvtest"
)

func TestStoreConforms(t *testing.T) {
	t.Parallel()
	var paths sync.Map // kv.KV → path
	open := func(t *testing.T, path string) kv.KV {
		t.Helper()
		s, err := bolt.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		paths.Store(kv.KV(s), path)
		return s
	}
	kvtest.Run(t, kvtest.Harness{
		Open: func(t *testing.T) kv.KV { return open(t, filepath.Join(t.TempDir(), "state.db")) },
		Reopen: func(t *testing.T, closed kv.KV) kv.KV {
			path, _ := paths.Load(closed)
			return open(t, path.(string))
		},
	})
}
