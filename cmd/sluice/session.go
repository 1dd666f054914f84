package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// freePort lets the system choose.
const freePort = "127.0.0.1:0"

// settings are what a process on a lake is started with.
type settings struct {
	lake, python    string
	http            string
	endpoint        core.Endpoint
	owned, draining []core.Target
	limits          core.Limits
	log             *slog.Logger
}

// ground is a lake that has been looked at and not yet changed. Everything that can be wrong with the
// surroundings is found here, in this order: Python, lake, tables. So bad input changes nothing in the lake.
type ground struct {
	lake   *lake.Local
	python string
	// other is the process that serves the lake already.
	other rest.Client
	busy  bool
}

// survey looks at the surroundings. The caller closes the ground.
func survey(ctx context.Context, directory, python string) (*ground, error) {
	g := &ground{}
	var err error
	found, noPython := engine.FindPython(ctx, python)
	if g.lake, err = lake.OpenLocal(directory); err != nil {
		if noPython != nil {
			err = noPython
		}
		return nil, err
	}
	g.other, g.busy, err = serving(ctx, g.lake)
	switch {
	case g.busy:
		return g, nil // that process has a Python, or its own words about it
	case noPython != nil:
		err = noPython
	case err == nil:
		err = embedded.CheckLake(ctx, g.lake)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	g.python = found
	return g, nil
}

func (g *ground) close() { _ = g.lake.Close() }

// node is a running process of ours on a lake, with its HTTP API.
type node struct {
	*embedded.Node
	api    rest.Client
	server *rest.Server
	done   func()
}

// start opens everything. The port comes first: one that is taken is found before the lake is touched.
func start(ctx context.Context, s settings) (n *node, err error) {
	l, err := rest.Listen(ctx, s.http)
	if err != nil {
		return nil, err
	}
	// The worker is in this process, so asking it costs nothing; and after a crash it is by the answer to a
	// probe that the new process learns that the old one's execution is nobody's.
	s.limits.Probe = cmp.Or(s.limits.Probe, time.Second)
	n = &node{}
	folder := filepath.Join(s.lake, embedded.Folder)
	_, before := os.Stat(folder)
	if n.Node, err = embedded.Open(ctx, embedded.Config{
		Lake: s.lake, Python: s.python, Owned: s.owned, Draining: s.draining, Endpoint: s.endpoint,
		Limits: s.limits, Log: s.log,
	}); err != nil {
		if errors.Is(before, os.ErrNotExist) {
			_ = os.Remove(folder) // if it is empty: a lake that was refused keeps nothing of ours
		}
		return nil, errors.Join(explain(err), l.Close())
	}
	n.serve(l, s.log)
	if n.done, err = announce(ctx, n.Lake, n.server.URL(), n.ID.ID); err != nil {
		return nil, errors.Join(err, n.end())
	}
	return n, nil
}

// explain adds what to do about a lake that can't publish commits.
func explain(err error) error {
	var link *os.LinkError
	if errors.Is(err, lake.ErrUnsafe) || errors.As(err, &link) {
		return fmt.Errorf("%w; put the lake on a file system with hard links, where link(2) fails if the name is taken", err)
	}
	return err
}

func (n *node) serve(l net.Listener, log *slog.Logger) {
	n.server = rest.Serve(l, rest.NewHandler(rest.Config{
		KV: n.KV, Lake: n.Lake, Master: n.Master, Worker: n.Worker, Version: version,
		Identity: func() (core.KVRecord, error) { return n.ID, nil }, Drain: n.drain,
	}), log)
	n.api = rest.Client{URL: n.server.URL()}
}

// drain has this process's worker take nothing new, the only one there is.
func (n *node) drain(context.Context, core.WorkerRecord) (core.Load, error) {
	n.Worker.StopTaking()
	l, ok := n.Worker.Load()
	if !ok {
		return l, errors.New("this worker is stopping")
	}
	return l, nil
}

// end ends everything at once; it is safe at any moment.
func (n *node) end() error {
	if n.done != nil {
		n.done()
	}
	return errors.Join(n.server.Close(), n.Close())
}

// stop lets what runs come to its end, for so long at most, and then ends.
func (n *node) stop(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(n.Drain(ctx), n.end())
}

// interruptible ends a context on Ctrl-C or SIGTERM. The second one ends the process, which is as safe as a
// crash.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
