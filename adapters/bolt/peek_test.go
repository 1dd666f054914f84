package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/core"
)

func TestAPeekChangesNotAByte(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := bolt.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), core.Txn{Name: "test", Then: []core.Op{core.Put(core.KVKey(), "hello")}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := bolt.Peek(t.Context(), path, core.KVKey()); !errors.Is(err, bolt.ErrInUse) {
		t.Errorf("expected a file in use to be refused, got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := bytesOf(t, path)
	value, ok, err := bolt.Peek(t.Context(), path, core.KVKey())
	if err != nil || !ok || value != "hello" {
		t.Errorf("expected the record, got %q, %v, %v", value, ok, err)
	}
	if _, ok, err := bolt.Peek(t.Context(), path, core.KVKey()+"x"); ok || err != nil {
		t.Errorf("expected no record, got %v, %v", ok, err)
	}
	if bytesOf(t, path) != before {
		t.Error("the file was changed")
	}
}

func TestAPeekIntoWhatIsNoKVSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	if _, ok, err := bolt.Peek(t.Context(), path, core.KVKey()); ok || err == nil {
		t.Errorf("expected an error for no file, got %v, %v", ok, err)
	}
	for content, bad := range map[string]bool{"": false, "hello": true} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := bolt.Peek(t.Context(), path, core.KVKey()); ok || errors.Is(err, bolt.ErrDamaged) != bad {
			t.Errorf("%q: got %v, %v", content, ok, err)
		}
	}
}

func bytesOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
