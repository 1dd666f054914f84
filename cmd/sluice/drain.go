package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func drainCommand() *cobra.Command {
	var r reach
	var worker string
	var wait bool
	c := &cobra.Command{
		Use:   "drain (--lake DIR | --http URL) (TARGET | --worker ENDPOINT)",
		Short: "Let a table or a worker start nothing new, and say when it is empty",
		Long: `Let a table or a worker start nothing new. What runs comes to its end within its limits, and what is broken
is recovered. It says whether anything is left; with --wait it waits until nothing is.

A table is drained by its mode: "sluice mode TARGET owned" or "direct" ends that. A worker stays drained until its
process is started again.`,
		Example: "  sluice drain --lake ./lake db/events\n  sluice drain --http http://127.0.0.1:8080 --worker w1 --wait",
		Args: func(c *cobra.Command, args []string) error {
			if worker == "" {
				return oneTarget(c, args)
			}
			return noArguments(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if worker != "" {
				e, err := endpoint(worker)
				if err != nil {
					return err
				}
				return r.asking(c, func(ctx context.Context, api rest.Client) error {
					return drainWorker(ctx, api, e, wait, r.json, c.OutOrStdout())
				})
			}
			t, err := target(args[0])
			if err != nil {
				return err
			}
			return r.asking(c, func(ctx context.Context, api rest.Client) error {
				return drainTable(ctx, api, t, wait, r.json, c.OutOrStdout())
			})
		},
	}
	r.flags(c)
	c.Flags().StringVar(&worker, "worker", "", "drain the worker with this name instead of a table")
	c.Flags().BoolVar(&wait, "wait", false, "wait until nothing runs any more")
	return c
}

func drainTable(ctx context.Context, api rest.Client, t core.Target, wait, asJSON bool, out io.Writer) error {
	a, err := untilEmpty(ctx, wait, func() (rest.Moded, bool, error) {
		a, err := api.SetMode(ctx, t, core.Draining)
		return a, a.Running == nil, err
	})
	if err != nil {
		return fmt.Errorf("drain %s: %w", t, err)
	}
	if asJSON {
		return printJSON(out, a)
	}
	return printMode(out, a)
}

func drainWorker(ctx context.Context, api rest.Client, e core.Endpoint, wait, asJSON bool, out io.Writer) error {
	l, err := untilEmpty(ctx, wait, func() (core.Load, bool, error) {
		l, err := api.DrainWorker(ctx, e)
		return l, !l.Accepting && l.Active == 0, err
	})
	if err != nil {
		return fmt.Errorf("drain worker %s: %w", e, err)
	}
	if asJSON {
		return printJSON(out, l)
	}
	_, err = fmt.Fprintf(out, "%s: takes nothing new, %s under way\n", e, count(l.Active, "execution"))
	return err
}

// untilEmpty asks once, or with wait until nothing is left. Asking again changes nothing.
func untilEmpty[A any](ctx context.Context, wait bool, ask func() (a A, empty bool, err error)) (A, error) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		a, empty, err := ask()
		if err != nil || empty || !wait {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case <-every.C:
		}
	}
}
