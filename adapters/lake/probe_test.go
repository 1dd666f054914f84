package lake_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
)

func TestALocalDirectoryPassesTheProbeAndStaysClean(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	if err := lake.Probe(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if infos, err := l.List(t.Context(), ""); err != nil || len(infos) != 0 {
		t.Errorf("left behind: %v (%v)", infos, err)
	}
}

// overwriting is a lake whose put-if-absent always writes; if it lies it says that it didn't.
type overwriting struct {
	lake.Lake
	lies bool
}

func (o overwriting) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	all, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	_, err = o.Head(ctx, key)
	if perr := o.Put(ctx, key, all); perr != nil {
		return perr
	}
	if o.lies && err == nil {
		return lake.ErrExists
	}
	return nil
}

func TestALakeThatOverwritesFailsTheProbe(t *testing.T) {
	t.Parallel()
	for _, lies := range []bool{false, true} {
		l := open(t, t.TempDir())
		if err := lake.Probe(t.Context(), overwriting{l, lies}); !errors.Is(err, lake.ErrUnsafe) {
			t.Errorf("lies=%t: %v, want %v", lies, err, lake.ErrUnsafe)
		}
		if infos, err := l.List(t.Context(), ""); err != nil || len(infos) != 0 {
			t.Errorf("left behind: %v (%v)", infos, err)
		}
	}
}

// hasty is a lake that looks whether a name is free and writes then: fine as long as nobody else does. It
// waits in between until all have looked, so that it fails each time.
type hasty struct {
	lake.Lake
	mu      sync.Mutex
	looking int
	looked  chan struct{}
}

func (h *hasty) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	all, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if _, err := h.Head(ctx, key); err == nil {
		return lake.ErrExists
	}
	h.mu.Lock()
	h.looking++
	if h.looking == 3 { // the first is alone, the others meet
		close(h.looked)
	}
	first := h.looking == 1
	h.mu.Unlock()
	if !first {
		<-h.looked
	}
	return h.Put(ctx, key, all)
}

func TestALakeThatLooksAndThenWritesFailsTheProbe(t *testing.T) {
	t.Parallel()
	l := &hasty{Lake: open(t, t.TempDir()), looked: make(chan struct{})}
	if err := lake.Probe(t.Context(), l); !errors.Is(err, lake.ErrUnsafe) || !strings.Contains(err.Error(), "at the same moment") {
		t.Errorf("%v, want %v of puts at the same moment", err, lake.ErrUnsafe)
	}
	if infos, err := l.List(t.Context(), ""); err != nil || len(infos) != 0 {
		t.Errorf("left behind: %v (%v)", infos, err)
	}
}
