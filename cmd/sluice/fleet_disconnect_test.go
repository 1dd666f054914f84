package main_test

import (
	"net/http"
	"path"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/core"
)

// cutter cuts the connections between a master and a worker: of each kind of request the first is lost on its
// way, the second arrives and its answer is lost, the third comes through, and so on in turn.
type cutter struct {
	cancel fate // of all cancels
	mu     sync.Mutex
	seen   map[string]int // by kind
}

func (c *cutter) meet(r *http.Request) fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := path.Base(r.URL.Path)
	c.seen[kind]++
	if kind == "cancel" {
		return c.cancel
	}
	switch c.seen[kind] % 3 {
	case 1:
		return lose
	case 2:
		return deafen
	}
	return pass
}

func (c *cutter) count(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[kind]
}

// Start, cancel and status are cut off, before they arrive and after they did: a start that is sent again
// starts nothing twice, and a status that nobody hears recovers nothing. A cancel whose answer is lost ends the
// execution as any other; one that is lost itself makes the master freeze it after the grace. Either way the
// next execution merges everything.
func TestHTTPDisconnects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cancel fate
		ends   core.Phase
	}{
		"while the answer to a cancel is on its way": {deafen, core.Finished},
		"while a cancel is on its way":               {lose, core.Recovered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut := &cutter{cancel: tt.cancel, seen: map[string]int{}}
			between := newWire(t, "", cut.meet)
			f := newFleet(t, "--probe", "300ms", "--cancel-grace", "6s")
			kv := f.store()
			w := f.worker("w1", "--advertise", between.URL)
			between.to(t, w.api.URL)
			signalAll(t, w.engines(), unix.SIGSTOP) // so that the execution is there to be asked about
			m := f.master("--poll", "1h")
			f.ask(m)
			v := until(t, kv, "an execution runs", func(v *core.View) bool { return v.Target("db/events").Execution.Value.Phase == core.Running })
			first := v.Target("db/events").Execution.Value
			until(t, kv, "status is cut off again and again", func(v *core.View) bool {
				if now := v.Target("db/events").Execution.Value; now.ID != first.ID || now.Phase != core.Running {
					t.Fatalf("expected %s to go on while its worker can hardly be asked, found %+v", first.ID, now)
				}
				return cut.count("status") >= 7
			})
			if n := cut.count("start"); n < 2 {
				t.Errorf("expected the start to be sent again after its connection was cut, it was sent %d times", n)
			}
			// An adoption that a person asks for cancels what runs, by the worker that runs it.
			adopted := make(chan error, 1)
			go func() {
				_, err := m.api.Adopt(t.Context(), "db/events", false)
				adopted <- err
			}()
			h := over(t, m, "db/events", 1)
			if h.Merged || h.Failure.Code != core.CodeCancelled || h.Execution.ID != first.ID || h.Execution.Phase != tt.ends {
				t.Errorf("expected the execution to be cancelled and %s, got %+v", tt.ends, h)
			}
			if cut.count("cancel") == 0 {
				t.Error("no cancel was sent")
			}
			must(t, <-adopted)
			f.waitMerged(m)
			if again := over(t, m, "db/events", 2); !again.Merged {
				t.Errorf("expected the next execution to merge, got %+v", again)
			}
			t.Logf("sent: %d starts, %d cancels, %d status requests", cut.count("start"), cut.count("cancel"), cut.count("status"))
		})
	}
}
