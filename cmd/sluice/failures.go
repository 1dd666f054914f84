package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func failuresCommand() *cobra.Command {
	var r reach
	var forget string
	c := &cobra.Command{
		Use:   "failures (--lake DIR | --http URL) [TARGET] [--forget ENDPOINT]",
		Short: "List repeated failures, or have them forgotten",
		Long: `List the failures that are waited for, of one table or of all: who failed, how often in a row, why, and when the
next attempt comes. Looking changes nothing.

--forget removes what is remembered of one endpoint, on one table or on all, once you have mended what was wrong:
the next attempt comes at once and counts as the first. It is refused while an execution is under way that counts
against that endpoint. The endpoint of shards without a live writer is ~unowned.`,
		Example: "  sluice failures --lake ./lake\n  sluice failures --lake ./lake db/events --forget ~unowned",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one table at most; it got %d", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			t := core.Target("")
			if len(args) > 0 {
				if t, err = target(args[0]); err != nil {
					return err
				}
			}
			if c.Flags().Changed("forget") && forget == "" {
				return usagef("--forget takes the name of an endpoint, as sluice failures lists it")
			}
			return r.asking(c, func(ctx context.Context, api rest.Client) error {
				if forget != "" {
					return forgetFailures(ctx, api, t, core.Endpoint(forget), r.json, c.OutOrStdout())
				}
				return listFailures(ctx, api, t, r.json, c.OutOrStdout())
			})
		},
	}
	r.flags(c)
	c.Flags().StringVar(&forget, "forget", "", "forget the failures of this endpoint")
	return c
}

func forgetFailures(ctx context.Context, api rest.Client, t core.Target, e core.Endpoint, asJSON bool, out io.Writer) error {
	a, err := api.Forget(ctx, t, e)
	switch {
	case err != nil:
		return fmt.Errorf("forget the failures of %s: %w", e, err)
	case asJSON:
		return printJSON(out, a)
	case a.Targets == 0:
		_, err = fmt.Fprintf(out, "%s: nothing to forget\n", e)
	default:
		_, err = fmt.Fprintf(out, "%s: failures forgotten on %s\n", e, count(a.Targets, "table"))
	}
	return err
}

func listFailures(ctx context.Context, api rest.Client, t core.Target, asJSON bool, out io.Writer) error {
	list, err := api.Failures(ctx)
	if err != nil {
		return fmt.Errorf("list the failures: %w", err)
	}
	if t != "" {
		list = slices.DeleteFunc(list, func(f rest.MergeFailure) bool { return f.Target != t })
	}
	if asJSON {
		return printJSON(out, rest.MergeFailures{Failures: append([]rest.MergeFailure{}, list...)})
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(out, "no failures")
		return err
	}
	for _, f := range list {
		attention := ""
		if f.Attention {
			attention = ", needs attention"
		}
		if _, err := fmt.Fprintf(out, "%s on %s: %s, %s in a row, next attempt %s%s: %s\n", f.Target, f.Endpoint, f.Code,
			count(f.Attempts, "failure"), time.UnixMilli(int64(f.NextRetry)).UTC().Format(time.RFC3339), attention, f.LastError); err != nil {
			return err
		}
	}
	return nil
}
