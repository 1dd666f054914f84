// Package lake is object storage as the protocol needs it: whole objects under slash-separated keys, and
// one operation that decides everything, [Lake.PutIfAbsent].
//
// A table version exists when its manifest's key exists, so publishing a commit is a put-if-absent of the
// next key. The gate, the fences, the drain and the numbered executions all publish through that one
// operation; nothing else in the program creates a key that others compete for.
//
// A local directory is served by [Local]. The port is shaped so that S3 fits too: no append, no rename, no
// directories that exist by themselves; a "folder" is only a common prefix of keys.
package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// What a caller branches on. Any other error of a read means that the answer is unknown, never that the
// key is absent.
var (
	// ErrNotExist says that there is no object with that key.
	ErrNotExist = errors.New("no such key in the lake")
	// ErrExists says that [Lake.PutIfAbsent] found the key taken: nothing was written.
	ErrExists = errors.New("the key exists in the lake")
	// ErrNotTried says that nothing was sent to storage, so the key is as it was before.
	ErrNotTried = errors.New("nothing was written to the lake")
	// ErrKey says that a key or folder is not one (see [CheckKey]).
	ErrKey = errors.New("not a canonical key")
	// ErrDenied says that storage refused our credentials or file permissions.
	ErrDenied = errors.New("the lake denies access")
)

// Info describes one object.
type Info struct {
	Key     string
	Size    int64
	ModTime time.Time
}

// Lake is one storage root. All keys are relative to it and pass [CheckKey] first.
//
// Implementations are safe for concurrent use, and a write that returned nil is seen by every later read
// of every process.
type Lake interface {
	// URI is the canonical name of the root: the same root has the same URI in every process.
	URI() string
	// Get returns the whole object. ErrNotExist if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Open returns a reader over the object, and its size. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, Info, error)
	// Head describes the object without reading it. ErrNotExist if there is none.
	Head(ctx context.Context, key string) (Info, error)
	// List returns every object under a folder ("" or a key that ends with a slash), at any depth, sorted
	// by key. A folder without objects gives an empty list; one that can't be read gives an error.
	List(ctx context.Context, folder string) ([]Info, error)
	// Children returns what lies directly in a folder, names only and sorted: it costs one listing
	// and no request for each object, so it is the way to look for the newest of many versions.
	Children(ctx context.Context, folder string) (Children, error)
	// PutIfAbsent publishes body under a key that must not exist yet.
	//
	//	nil          it exists now, with exactly this body, put by this call
	//	ErrExists    it existed before: this body was not published and never will be
	//	ErrNotTried  nothing was sent: the key is as it was
	//	other        unknown: it may be there now or appear later; only reading tells
	//
	// It never retries by itself, never overwrites, and no reader ever sees a part of the body. Whether it
	// takes a version number is decided by storage alone, so it holds among processes that know nothing
	// of each other (invariants 1 to 3 stand on it).
	PutIfAbsent(ctx context.Context, key string, body io.Reader) error
	// Put writes the object, whether or not the key exists; readers see the old body or the new one. It
	// is for objects that only one process writes.
	Put(ctx context.Context, key string, body []byte) error
	// Delete removes the object. Deleting what isn't there is no error.
	Delete(ctx context.Context, key string) error
}

// Children is one level of a listing. Folders come without their trailing slash.
type Children struct {
	Objects []string
	Folders []string
}

// CheckKey reports why a key is refused: a key is one or more non-empty segments joined by single slashes,
// none of them "." or "..", without NUL. So one object has one key, and none lies outside the lake.
func CheckKey(key string) error {
	bad := func(why string) error { return fmt.Errorf("key %q %s: %w", key, why, ErrKey) }
	switch {
	case key == "":
		return bad("is empty")
	case strings.IndexByte(key, 0) >= 0:
		return bad("has a NUL byte")
	case strings.HasPrefix(key, "/"):
		return bad("starts with a slash")
	case strings.HasSuffix(key, "/"):
		return bad("ends with a slash")
	}
	for seg := range strings.SplitSeq(key, "/") {
		switch seg {
		case "":
			return bad("has an empty segment")
		case ".", "..":
			return bad("has a segment \"" + seg + "\"")
		}
	}
	return nil
}

// checkFolder is [CheckKey] for "" or a key followed by one slash.
func checkFolder(folder string) error {
	if folder == "" {
		return nil
	}
	key, ok := strings.CutSuffix(folder, "/")
	if !ok {
		return fmt.Errorf("folder %q does not end with a slash: %w", folder, ErrKey)
	}
	return CheckKey(key)
}
