package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// The variables that name owned and draining tables where the flags don't.
const (
	ownedEnv = "MERGE_OWNED_TARGETS"
	drainEnv = "MERGE_DRAIN_TARGETS"
)

func devCommand() *cobra.Command {
	var o options
	var http, endpoint, owned, drain string
	var l *limits
	c := &cobra.Command{
		Use:   "dev --lake DIR",
		Short: "Run everything in one process on a local lake, until Ctrl-C",
		Long: `Run everything in one process on a local lake, until Ctrl-C: the state file, the S3 gate, one worker, one
master and the HTTP API. It prints where they are, and the storage options by which pylance and LanceDB
reach the lake through the gate.

Only tables that are named are merged. Ctrl-C lets a merge come to its end; pressed again, it ends at once,
and the next process recovers what was left.`,
		Example: "  sluice dev --lake ./lake --owned db/events",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			s := settings{http: http, endpoint: core.Endpoint(endpoint), log: logTo(os.Stderr)}
			var err error
			if s.owned, err = targets(owned, c.Flags().Changed("owned"), ownedEnv); err != nil {
				return err
			}
			if s.draining, err = targets(drain, c.Flags().Changed("drain"), drainEnv); err != nil {
				return err
			}
			if s.limits, err = l.resolve(); err != nil {
				return err
			}
			if err := rest.CheckAddress(http); err != nil {
				return usagef("--http: %w", err)
			}
			if err := o.check(); err != nil {
				return err
			}
			return dev(c.Context(), o, s)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&http, "http", freePort, "address of the HTTP API, on 127.0.0.1; port 0 is a free one")
	c.Flags().StringVar(&endpoint, "endpoint", "embedded", "stable name of the worker")
	c.Flags().StringVar(&owned, "owned", "", "tables to merge, comma-separated (default: $"+ownedEnv+")")
	c.Flags().StringVar(&drain, "drain", "", "tables to drain, comma-separated (default: $"+drainEnv+")")
	l = limitFlags(c)
	return c
}

func dev(ctx context.Context, o options, s settings) (err error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	g, err := survey(ctx, o.lake, o.python)
	if err != nil {
		return err
	}
	defer g.close()
	if g.busy {
		return fmt.Errorf("lake %s is served by the process at %s already: stop it first", g.lake.Dir(), g.other.URL)
	}
	s.lake, s.python = g.lake.Dir(), g.python
	n, err := start(ctx, s)
	if err != nil {
		return err
	}
	if err := announceDev(ctx, n, s, o.json); err != nil {
		return errors.Join(err, n.end())
	}
	s.log.Info("stopping: what runs comes to its end; once more ends it at once", "signal", (<-signals).String())
	return endDev(ctx, n, signals, s.log)
}

// patience is how long a process that is told to end lets a merge go on before it is cancelled.
const patience = 30 * time.Second

// endDev lets what runs come to its end; a second signal cuts that short, which is as safe as a crash.
func endDev(ctx context.Context, n *node, signals <-chan os.Signal, log *slog.Logger) error {
	stopped := make(chan error, 1)
	go func() { stopped <- n.stop(ctx, patience) }()
	select {
	case err := <-stopped:
		return err
	case s := <-signals:
		log.Warn("ending at once: the next process recovers what is left", "signal", s.String())
		return errors.New("ended before the running merge did; nothing is lost, the next process recovers it")
	}
}
