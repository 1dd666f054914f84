package lake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ErrUnsafe says that the lake does not keep put-if-absent, so no commit can be fenced on it.
var ErrUnsafe = errors.New("the lake does not keep put-if-absent")

// Probe proves that put-if-absent works on this lake: of two puts of one name the second loses, the first
// body stays, and both are seen in a listing. It cleans up after itself. A lake that fails ([ErrUnsafe])
// must not be used: two commits of one version could both land on it.
func Probe(ctx context.Context, l Lake) (err error) {
	folder := "_sluice/"
	key := folder + "probe-" + rand.Text()
	defer func() {
		// The caller may have given up; the object must go all the same.
		if derr := l.Delete(context.WithoutCancel(ctx), key); err == nil && derr != nil {
			err = fmt.Errorf("clean up after probing lake %s: %w", l.URI(), derr)
		}
	}()
	if err := l.PutIfAbsent(ctx, key, strings.NewReader("first")); err != nil {
		return fmt.Errorf("probe lake %s: %w", l.URI(), err)
	}
	switch err := l.PutIfAbsent(ctx, key, strings.NewReader("second")); {
	case err == nil:
		return fmt.Errorf("probe lake %s: a second put of one name succeeded: %w", l.URI(), ErrUnsafe)
	case !errors.Is(err, ErrExists):
		return fmt.Errorf("probe lake %s: put a name twice: %w", l.URI(), err)
	}
	body, err := l.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("probe lake %s: read back: %w", l.URI(), err)
	}
	if string(body) != "first" {
		return fmt.Errorf("probe lake %s: a put that lost changed the object: %w", l.URI(), ErrUnsafe)
	}
	level, err := l.Children(ctx, folder)
	if err != nil {
		return fmt.Errorf("probe lake %s: %w", l.URI(), err)
	}
	if slices.Contains(level.Objects, path.Base(key)) {
		return nil
	}
	return fmt.Errorf("probe lake %s: an object that was just put is not listed: %w", l.URI(), ErrUnsafe)
}
