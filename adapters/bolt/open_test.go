package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

func open(t *testing.T, path string) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t *testing.T, s *bolt.Store, ops ...core.Op) core.Revision {
	t.Helper()
	answer, err := s.Commit(t.Context(), core.Txn{Name: "put", Then: ops})
	if err != nil || answer.Outcome != core.Applied {
		t.Fatalf("put: %v, %v", answer.Outcome, err)
	}
	return answer.Revision
}

// expectRefusal opens the file and wants one line that names it and says what to do.
func expectRefusal(t *testing.T, path string, want error, advice string) {
	t.Helper()
	s, err := bolt.Open(t.Context(), path)
	if err == nil {
		_ = s.Close()
		t.Fatalf("%s was opened", path)
	}
	text := err.Error()
	if want != nil && !errors.Is(err, want) || !strings.Contains(text, path) || !strings.Contains(text, advice) || strings.Contains(text, "\n") {
		t.Errorf("got error %q, want one line with the path, %q and %v", text, advice, want)
	}
}

func TestAFileInUseIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	first := open(t, path)
	rev := put(t, first, core.Put("k/a", "1"))
	expectRefusal(t, path, bolt.ErrInUse, "stop it")
	// The one who has it is not disturbed, and the next one gets it.
	put(t, first, core.Put("k/a", "2"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, path)
	if got := put(t, second, core.Put("k/a", "3")); got != rev+2 {
		t.Errorf("got revision %d, want %d", got, rev+2)
	}
}

func TestWhatIsNoKVFileIsRefused(t *testing.T) {
	t.Parallel()
	foreign := func(t *testing.T, path string, fill func(*bbolt.Tx) error) {
		t.Helper()
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(fill), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write := func(t *testing.T, path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		make   func(t *testing.T, path string)
		want   error
		advice string
	}{
		"a directory": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, nil, "is a directory"},
		"a text file": {func(t *testing.T, path string) { write(t, path, "hello\n") }, bolt.ErrDamaged, "sluice adopt"},
		"a long text": {func(t *testing.T, path string) { write(t, path, strings.Repeat("hello\n", 1<<14)) }, bolt.ErrDamaged, "sluice adopt"},
		"a file of another program": {func(t *testing.T, path string) {
			foreign(t, path, func(tx *bbolt.Tx) error {
				_, err := tx.CreateBucket([]byte("theirs"))
				return err
			})
		}, bolt.ErrDamaged, "another program"},
		"a file of another format": {func(t *testing.T, path string) {
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			foreign(t, path, func(tx *bbolt.Tx) error {
				return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte{0, 0, 0, 0, 0, 0, 0, 9})
			})
		}, bolt.ErrDamaged, "file format 9, this program reads 1"},
		"a file in a directory that isn't there": {func(*testing.T, string) {}, fs.ErrNotExist, "make its directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			if errors.Is(c.want, fs.ErrNotExist) {
				path = filepath.Join(t.TempDir(), "none", "state.db")
			}
			c.make(t, path)
			before, _ := os.ReadFile(path)
			expectRefusal(t, path, c.want, c.advice)
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("a file that was refused has been changed")
			}
		})
	}
}

// TestADamagedFileIsAnError damages every page in turn. Opening must say so, or the damage must be where
// nothing was; it may neither crash nor show what was never written.
func TestADamagedFileIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	for i := range 20 {
		put(t, s, core.Put("k/"+strings.Repeat("n", i+1), strings.Repeat("v", 500*i)))
	}
	want := read(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, refused := os.Getpagesize(), 0
	for at := 0; at < len(whole); at += page {
		for name, damage := range map[string]func([]byte) []byte{
			"zeroed": func(b []byte) []byte { clear(b[at : at+page]); return b },
			"filled": func(b []byte) []byte { copy(b[at:at+page], bytes.Repeat([]byte{0xa5}, page)); return b },
			"torn":   func(b []byte) []byte { clear(b[at+page/2 : at+page]); return b },
			"cut":    func(b []byte) []byte { return b[:at] },
		} {
			if at == 0 && name == "cut" {
				continue // that is a new file
			}
			broken := filepath.Join(t.TempDir(), "state.db")
			if err := os.WriteFile(broken, damage(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := bolt.Open(t.Context(), broken)
			if errors.Is(err, bolt.ErrDamaged) {
				refused++
				continue
			}
			if err != nil {
				t.Errorf("page %d %s: %v", at/page, name, err)
				continue
			}
			if got := read(t, s); len(got.Records) != len(want.Records) || got.Revision != want.Revision {
				t.Errorf("page %d %s: shows %d records at %d, there were %d at %d",
					at/page, name, len(got.Records), got.Revision, len(want.Records), want.Revision)
			}
			if err := s.Close(); err != nil {
				t.Errorf("page %d %s: %v", at/page, name, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was found")
	}
}

func TestOpenWithACancelledContextMakesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bolt.Open(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

func read(t *testing.T, s *bolt.Store) kv.Snapshot {
	t.Helper()
	snapshot, err := s.Read(t.Context(), core.Prefixed("k/"))
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}
