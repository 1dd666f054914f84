package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// confirmed is a KV that shows nothing until it is known to be this lake's. A process of a fleet starts while
// its KV is away; until that has answered, and said that it serves this lake, every request of it is unknown
// and nothing is watched, so the machines behind it admit nothing.
type confirmed struct {
	kv.KV
	lake lake.Lake

	mu    sync.Mutex
	id    core.KVRecord
	why   error         // why it isn't confirmed, or can't be used any more
	ready chan struct{} // closed once it is confirmed
	ended chan struct{} // closed once it can't be used any more
	once  sync.Once     // for ended
}

// errUnconfirmed is what every request meets before.
var errUnconfirmed = errors.New("the KV has not answered yet")

func newConfirmed(k kv.KV, l lake.Lake) *confirmed {
	return &confirmed{KV: k, lake: l, why: errUnconfirmed, ready: make(chan struct{}), ended: make(chan struct{})}
}

// confirm asks until it has an answer. A KV that serves another lake, or a lake that belongs to another KV, is
// refused for good: nobody but a person can mend that.
func (c *confirmed) confirm(ctx context.Context, log *slog.Logger) {
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = 100*time.Millisecond, 5*time.Second
	for {
		id, err := c.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			c.set(id, nil)
			close(c.ready)
			log.Info("the KV serves this lake", "kv", id.ID, "lake", id.Lake)
			return
		case foreign(err):
			c.end(err)
			return
		}
		_, before := c.Identity()
		if c.set(core.KVRecord{}, err); before == nil || before.Error() != err.Error() {
			log.Warn("waiting for the KV: this process runs no execution", "code", core.CodeKV, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pace.NextBackOff()):
		}
	}
}

// foreign reports whether an error is for a person: the KV and the lake don't belong together.
func foreign(err error) bool {
	var other *lake.OtherKVError
	var nested *lake.NestedError
	var kvs *kv.ForeignError
	return errors.As(err, &other) || errors.As(err, &nested) || errors.As(err, &kvs)
}

// askLimit bounds one try.
const askLimit = 10 * time.Second

func (c *confirmed) ask(ctx context.Context) (core.KVRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	id, err := kv.Identify(ctx, c.KV, c.lake.URI())
	if err != nil {
		return id, err
	}
	return id, lake.Claim(ctx, c.lake, id.ID)
}

func (c *confirmed) set(id core.KVRecord, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id, c.why = id, why
}

// end says that this process can't go on.
func (c *confirmed) end(why error) {
	c.set(core.KVRecord{}, why)
	c.once.Do(func() { close(c.ended) })
}

// errEnded is the reason when a KV ends the watches of a process that goes on.
var errEnded = errors.New("the KV has ended: what it shows can't be trusted any more; its own message says why")

// Identity is the KV's record, once it is confirmed.
func (c *confirmed) Identity() (core.KVRecord, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id, c.why
}

// Commit implements [kv.KV].
func (c *confirmed) Commit(ctx context.Context, t core.Txn) (kv.Answer, error) {
	if _, err := c.Identity(); err != nil {
		return kv.Answer{}, fmt.Errorf("commit %s: %w", t.Name, err)
	}
	return c.KV.Commit(ctx, t)
}

// Read implements [kv.KV].
func (c *confirmed) Read(ctx context.Context, ranges ...core.Range) (kv.Snapshot, error) {
	if _, err := c.Identity(); err != nil {
		return kv.Snapshot{}, fmt.Errorf("read the KV: %w", err)
	}
	return c.KV.Read(ctx, ranges...)
}

// Watch implements [kv.KV]: it begins once the KV is confirmed.
func (c *confirmed) Watch(ctx context.Context, r core.Range, from core.Revision) <-chan kv.Batch {
	out := make(chan kv.Batch)
	go func() {
		defer close(out)
		select {
		case <-ctx.Done():
			return
		case <-c.ended:
			return
		case <-c.ready:
		}
		for b := range c.KV.Watch(ctx, r, from) {
			select {
			case out <- b:
			case <-ctx.Done():
			}
		}
		if ctx.Err() == nil {
			_, err := c.KV.Read(ctx, core.Range{Key: core.KVKey()})
			c.end(cmp.Or(err, errEnded))
		}
	}()
	return out
}
