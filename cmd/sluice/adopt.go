package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/core"
)

func adoptCommand() *cobra.Command {
	var o options
	var gone bool
	c := &cobra.Command{
		Use:   "adopt --lake DIR TARGET",
		Short: "Take a table as it stands for the right one, and give it a new id",
		Long: `Take a table as it stands for the right one, and give it a new id.

Sluice adopts a table by itself before its first merge. It stops, and asks for this command, when the table is
not the one that it knew: dropped and made again, restored from an older copy, or merged by a process whose
state was lost. Say so only when no other process merges this table any more.

It ends what runs on the table, writes a new id into its metadata with one commit that changes no row, and one
into the log of each shard. So every commit that an unknown past still has under way must fail.

With --table-gone it ends what runs on a table that was dropped for good, once two looks have found none, and
adopts nothing.`,
		Example: "  sluice adopt --lake ./lake db/events",
		Args:    oneTarget,
		RunE: func(c *cobra.Command, args []string) error {
			t, err := target(args[0])
			if err == nil {
				err = o.check()
			}
			if err != nil {
				return err
			}
			ctx, stop := interruptible(c.Context())
			defer stop()
			return adopt(ctx, o, t, gone, c.OutOrStdout())
		},
	}
	o.flags(c)
	o.quiet(c)
	c.Flags().BoolVar(&gone, "table-gone", false, "the table is gone for good: end what owns it, and adopt nothing")
	return c
}

func adopt(ctx context.Context, o options, t core.Target, gone bool, out io.Writer) (err error) {
	g, err := survey(ctx, o.lake, o.python)
	if err != nil {
		return err
	}
	defer g.close()
	if !gone {
		if err := embedded.CheckAdoptable(ctx, g.lake, t); err != nil {
			return err
		}
	}
	api := g.other
	if !g.busy {
		n, err := start(ctx, settings{lake: g.lake.Dir(), python: g.python, http: freePort, log: o.log()})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, n.stop(context.WithoutCancel(ctx), time.Second)) }()
		api = n.api
	}
	a, err := api.Adopt(ctx, t, gone)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", t, err)
	}
	if o.json {
		return printJSON(out, a)
	}
	if gone {
		_, err = fmt.Fprintf(out, "%s: nothing owns it any more\n", t)
		return err
	}
	_, err = fmt.Fprintf(out, "%s: adopted with the new id %s, from base v%d on; commits from before can't land any more\n", t, a.TableID, a.Version)
	return err
}
