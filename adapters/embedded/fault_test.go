package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// errAway is what a KV answers that can't be reached.
var errAway = errors.New("the KV is away")

// apply sends a transaction to the real KV.
type apply func() (kv.Answer, error)

// faultyKV stands between a process and its KV. It writes down what the KV really admitted, whatever the
// process is told about it.
type faultyKV struct {
	kv.KV
	admissions string // a file: one "version execution" a line

	mu     sync.Mutex
	commit func(context.Context, core.Txn, apply) (kv.Answer, error)
	read   func() error
}

// breakCommits makes f answer in place of the KV; nil mends it.
func (k *faultyKV) breakCommits(f func(context.Context, core.Txn, apply) (kv.Answer, error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.commit = f
}

func (k *faultyKV) breakReads(f func() error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read = f
}

// Commit implements [kv.KV].
func (k *faultyKV) Commit(ctx context.Context, t core.Txn) (kv.Answer, error) {
	k.mu.Lock()
	f := k.commit
	k.mu.Unlock()
	send := func() (kv.Answer, error) {
		a, err := k.KV.Commit(ctx, t)
		if err == nil && a.Outcome == core.Applied && t.Name == "admit" {
			err = k.admitted(t)
		}
		return a, err
	}
	if f == nil {
		return send()
	}
	return f(ctx, t, send)
}

// Read implements [kv.KV].
func (k *faultyKV) Read(ctx context.Context, ranges ...core.Range) (kv.Snapshot, error) {
	k.mu.Lock()
	f := k.read
	k.mu.Unlock()
	if f != nil {
		if err := f(); err != nil {
			return kv.Snapshot{}, err
		}
	}
	return k.KV.Read(ctx, ranges...)
}

func (k *faultyKV) admitted(t core.Txn) error {
	w, err := core.Decode[core.Watermarks](t.Then[0].Key, t.Then[0].Value)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(k.admissions, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%d %s\n", w.Of(core.Base), w.Execution)
	return err
}

// holding is a lake below a gate that holds puts when it is told to.
type holding struct {
	*lake.Hold
	mu   sync.Mutex
	part string
	left int
}

func newHolding(inner lake.Lake) *holding {
	h := &holding{}
	h.Hold = lake.NewHold(inner, h.match)
	return h
}

// next holds the next n puts of keys that contain part; n < 0 means all of them.
func (h *holding) next(n int, part string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left, h.part = n, part
}

func (h *holding) match(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left == 0 || !strings.Contains(key, h.part) {
		return false
	}
	h.left--
	return true
}
