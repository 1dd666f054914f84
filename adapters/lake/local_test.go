package lake_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
)

func open(t *testing.T, dir string) *lake.Local {
	t.Helper()
	l, err := lake.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func publish(t *testing.T, l lake.Lake, key, body string) {
	t.Helper()
	if err := l.PutIfAbsent(t.Context(), key, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
}

func wantBody(t *testing.T, l lake.Lake, key, want string) {
	t.Helper()
	got, err := l.Get(t.Context(), key)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", key, got, err, want)
	}
}

func TestOpeningWhatIsNoLakeSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":                            "no lake given",
		filepath.Join(dir, "missing"): "does not exist; create the directory",
		file:                          "is a file; pass the directory",
		filepath.Join(file, "below"):  "is not a directory; pass the directory",
	} {
		l, err := lake.OpenLocal(path)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("open %q: %v, want one line with %q", path, err, want)
		}
	}
}

func TestTwoNamesOfOneDirectoryAreOneLake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	a, b := open(t, dir), open(t, link+"/../link/.")
	if a.URI() != b.URI() || !strings.HasPrefix(a.URI(), "file:///") {
		t.Errorf("URIs %s and %s", a.URI(), b.URI())
	}
}

func TestAKeyThatIsNotCanonicalIsRefusedByEveryCall(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	ctx := t.Context()
	for _, key := range []string{"", "/a", "a/", "a//b", "a/../b", "../a", "./a", "a/.", "a\x00b"} {
		_, getErr := l.Get(ctx, key)
		_, headErr := l.Head(ctx, key)
		_, listErr := l.List(ctx, key+"//")
		for call, err := range map[string]error{
			"get": getErr, "head": headErr, "list": listErr, "put": l.Put(ctx, key, nil), "delete": l.Delete(ctx, key),
			"put if absent": l.PutIfAbsent(ctx, key, strings.NewReader("")),
		} {
			if !errors.Is(err, lake.ErrKey) {
				t.Errorf("%s %q: %v, want %v", call, key, err, lake.ErrKey)
			}
		}
	}
}

func TestASymlinkOutOfTheLakeIsRefused(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"folder": outside, "object": secret} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, dir)
	for _, key := range []string{"object", "folder/secret"} {
		if body, err := l.Get(t.Context(), key); err == nil {
			t.Errorf("%s reads as %q", key, body)
		}
		if err := l.PutIfAbsent(t.Context(), key+"-2", strings.NewReader("ours")); key != "object" && err == nil {
			t.Errorf("%s was written outside", key)
		}
	}
	if infos, err := l.List(t.Context(), ""); err != nil || len(infos) != 1 || infos[0].Key != "object-2" {
		t.Errorf("listed %v (%v), want only what lies inside", infos, err)
	}
	if names, _ := os.ReadDir(outside); len(names) != 1 {
		t.Errorf("the directory outside holds %v", names)
	}
}

func TestListingsAreSortedAndShowOneLevelOrAll(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	for _, key := range []string{"t/b", "t/a/2", "t/a/1", "t/a-b", "u"} {
		publish(t, l, key, key)
	}
	infos, err := l.List(t.Context(), "t/")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, info := range infos {
		keys = append(keys, info.Key)
		if info.Size != int64(len(info.Key)) || info.ModTime.IsZero() {
			t.Errorf("listed %+v", info)
		}
	}
	if want := []string{"t/a-b", "t/a/1", "t/a/2", "t/b"}; !slices.Equal(keys, want) {
		t.Errorf("listed %v, want %v", keys, want)
	}
	level, err := l.Children(t.Context(), "t/")
	if err != nil || !slices.Equal(level.Objects, []string{"a-b", "b"}) || !slices.Equal(level.Folders, []string{"a"}) {
		t.Errorf("children %+v (%v)", level, err)
	}
	for _, folder := range []string{"none/", "t/none/below/"} {
		if infos, err := l.List(t.Context(), folder); err != nil || len(infos) != 0 {
			t.Errorf("%s: listed %v (%v), want nothing", folder, infos, err)
		}
	}
}

func TestAMissingKeyAndABrokenReadAreTwoThings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	publish(t, l, "t/object", "x")
	for _, key := range []string{"none", "t/none", "t", "t/object/below"} {
		if _, err := l.Get(t.Context(), key); !errors.Is(err, lake.ErrNotExist) {
			t.Errorf("get %s: %v, want %v", key, err, lake.ErrNotExist)
		}
		if _, err := l.Head(t.Context(), key); !errors.Is(err, lake.ErrNotExist) {
			t.Errorf("head %s: %v, want %v", key, err, lake.ErrNotExist)
		}
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Children(t.Context(), "loop/"); err == nil || errors.Is(err, lake.ErrNotExist) {
		t.Errorf("a folder that can't be read: %v, want an error that is not an absence", err)
	}
	if _, err := l.Children(t.Context(), "t/object/"); err == nil {
		t.Error("an object was listed like a folder")
	}
}

func TestALakeThatWasRemovedOrReplacedIsNotEmpty(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lake")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	publish(t, l, "t/object", "x")
	for _, change := range []func() error{
		func() error { return os.RemoveAll(dir) },
		func() error { return os.Mkdir(dir, 0o755) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{"", "t/"} {
			if infos, err := l.List(t.Context(), folder); err == nil || errors.Is(err, lake.ErrNotExist) {
				t.Errorf("%q lists %v (%v), want an error that is not an absence", folder, infos, err)
			}
		}
	}
}

func TestPutOverwritesAndDeleteIsRepeatable(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	for _, body := range []string{"first", "second"} {
		if err := l.Put(t.Context(), "a/b", []byte(body)); err != nil {
			t.Fatal(err)
		}
		wantBody(t, l, "a/b", body)
	}
	r, info, err := l.Open(t.Context(), "a/b")
	if err != nil || info.Size != 6 {
		t.Fatalf("open: %+v (%v)", info, err)
	}
	defer r.Close()
	if body, err := io.ReadAll(r); err != nil || string(body) != "second" {
		t.Errorf("read %q (%v)", body, err)
	}
	for range 2 {
		if err := l.Delete(t.Context(), "a/b"); err != nil {
			t.Error(err)
		}
	}
}

func TestACallerThatGaveUpWritesNothing(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	// The caller gives up while its body is being read.
	body := io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }))
	err := l.PutIfAbsent(ctx, "a", body)
	if !errors.Is(err, lake.ErrNotTried) || !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v, want not tried and cancelled", err)
	}
	broken := errors.New("the sender hung up")
	err = l.PutIfAbsent(t.Context(), "a", readerFunc(func([]byte) (int, error) { return 0, broken }))
	if !errors.Is(err, lake.ErrNotTried) || !errors.Is(err, broken) {
		t.Errorf("put: %v, want not tried and why", err)
	}
	if names, err := os.ReadDir(l.Dir()); err != nil || len(names) != 0 {
		t.Errorf("left in the lake: %v (%v)", names, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
