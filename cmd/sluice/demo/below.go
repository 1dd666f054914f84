package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// below holds puts between the gate and the lake, as a network can. It stands below the gate: what it holds
// has been admitted.
type below struct {
	hold   *lake.Hold
	prefix atomic.Pointer[string] // what to hold; nil for nothing
}

func newBelow() *below { return &below{} }

func (b *below) wrap(l lake.Lake) lake.Lake {
	b.hold = lake.NewHold(l, func(key string) bool {
		// One put at a time: the first that matches.
		p := b.prefix.Load()
		return p != nil && strings.HasPrefix(key, *p) && b.prefix.CompareAndSwap(p, nil)
	})
	return b.hold
}

// next holds the next put of the table into one of its folders.
func (b *below) next(t core.Target, folder string) {
	prefix := t.Path() + "/" + folder + "/"
	b.prefix.Store(&prefix)
}

// taken waits until that put is held.
func (b *below) taken(ctx context.Context) (*lake.HeldPut, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	put, err := b.hold.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for a put to be held: %w", err)
	}
	return put, nil
}

// late lets a held commit go and says what the lake made of it.
func late(put *lake.HeldPut) (string, bool) {
	err := put.Release()
	switch {
	case errors.Is(err, lake.ErrExists):
		return "refused", true
	case err == nil:
		return "LANDED", false
	}
	return err.Error(), false
}
