package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-data/sluice/guard"
)

// ClaimKey is the object that says which KV a lake belongs to.
const ClaimKey = "_sluice/lake.json"

// claim is the content of [ClaimKey]. It names nothing that changes, so it is written once.
type claim struct {
	KV string `json:"kv"`
}

// OtherKVError says that the lake belongs to another KV. Two KVs over one table would each admit a commit.
type OtherKVError struct {
	Where string // the URI or path of the lake.json that says so
	KV    string // the id that it names
	Ours  string
}

func (e *OtherKVError) Error() string {
	return fmt.Sprintf("lake belongs to the KV %s (says %s), this is KV %s; use that KV, or another lake", e.KV, e.Where, e.Ours)
}

// NestedError says that the lake lies inside another one: one table would have a name in each.
type NestedError struct{ Parent string }

func (e *NestedError) Error() string {
	return fmt.Sprintf("lake lies inside another lake (%s); use that one, or move this one out of it", e.Parent)
}

// parents is what a lake implements whose parents are outside its root. It returns the path of a claim
// found in a parent, or "".
type parents interface {
	claimAbove(ctx context.Context) (string, error)
}

// Claim makes the lake belong to the KV with this random id, or checks that it does. The first KV wins by
// put-if-absent; any other gets an [*OtherKVError] and has changed nothing. A lake inside a claimed one is
// refused with a [*NestedError].
func Claim(ctx context.Context, l Lake, kv string) error {
	if p, ok := l.(parents); ok {
		above, err := p.claimAbove(ctx)
		if err != nil {
			return fmt.Errorf("look for a lake above %s: %w", l.URI(), err)
		}
		if above != "" {
			return &NestedError{Parent: above}
		}
	}
	body, err := json.Marshal(claim{KV: kv})
	if err != nil {
		return fmt.Errorf("claim lake %s: %w", l.URI(), err)
	}
	body = append(body, '\n')
	if err := l.PutIfAbsent(ctx, ClaimKey, bytes.NewReader(body)); err == nil {
		return nil
	} else if !errors.Is(err, ErrExists) {
		return fmt.Errorf("claim lake %s: %w", l.URI(), err)
	}
	owner, err := ClaimedBy(ctx, l)
	if err != nil {
		return err
	}
	if owner != kv && !guard.Out(guard.LakeClaim) {
		return &OtherKVError{Where: l.URI() + "/" + ClaimKey, KV: owner, Ours: kv}
	}
	return nil
}

// ClaimedBy returns the id of the KV that the lake belongs to. [ErrNotExist] if nobody has claimed it.
func ClaimedBy(ctx context.Context, l Lake) (string, error) {
	body, err := l.Get(ctx, ClaimKey)
	if err != nil {
		return "", fmt.Errorf("read who owns lake %s: %w", l.URI(), err)
	}
	var c claim
	if err := json.Unmarshal(body, &c); err != nil || c.KV == "" {
		return "", fmt.Errorf("read who owns lake %s: %s names no KV; restore it from a copy", l.URI(), ClaimKey)
	}
	return c.KV, nil
}

// claimAbove looks into every parent directory. One that we may not look into is passed over: it can't be
// a lake that a process of ours serves.
func (l *Local) claimAbove(ctx context.Context) (string, error) {
	for dir := filepath.Dir(l.dir); ; dir = filepath.Dir(dir) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		at := filepath.Join(dir, filepath.FromSlash(ClaimKey))
		switch _, err := os.Stat(at); {
		case err == nil:
			return at, nil
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		default:
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}
