package gate

import (
	"context"
	"sync"

	"github.com/sluice-data/sluice/guard"
)

// turns let one put of a key at a time go to storage. While an earlier put of the same version may still
// land, a later one must not be told that it lost: its client would take the earlier one for somebody
// else's and delete its own files (attack early-conflict).
//
// A turn belongs to the put, not to the request: it ends with the storage's answer or its time-out.
type turns struct {
	mu   sync.Mutex
	keys map[string]*turn
}

// turn is a lock that a context can end the wait for. It exists while somebody has it or waits.
type turn struct {
	taken chan struct{}
	users int
}

func newTurns() *turns { return &turns{keys: map[string]*turn{}} }

// take waits for the key's turn. The caller ends it by calling release once.
func (t *turns) take(ctx context.Context, key string) (release func(), err error) {
	if guard.Out(guard.OneTurn) {
		return func() {}, nil
	}
	t.mu.Lock()
	k := t.keys[key]
	if k == nil {
		k = &turn{taken: make(chan struct{}, 1)}
		t.keys[key] = k
	}
	k.users++
	t.mu.Unlock()
	select {
	case k.taken <- struct{}{}:
		return func() { <-k.taken; t.leave(key, k) }, nil
	case <-ctx.Done():
		t.leave(key, k)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) leave(key string, k *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(t.keys, key)
	}
}
