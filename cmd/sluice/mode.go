package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func modeCommand() *cobra.Command {
	var r reach
	c := &cobra.Command{
		Use:   "mode (--lake DIR | --http URL) TARGET direct|owned|draining",
		Short: "Say who may merge a table",
		Long: `Say who may merge a table: the worker that writes it (direct), or the fleet (owned). A draining table starts
nothing new; what runs comes to its end, and what is broken is recovered.

It writes the table's policy and the latch that keeps what processes have declared. A mode may always go up:
direct, owned, draining. It comes down only while nobody owns the table and no live process declares otherwise
by --owned, --drain or their variables; else it says what is in the way.`,
		Example: "  sluice mode --lake ./lake db/events owned",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s takes one table and its mode, for example db/events owned; it got %d words", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			t, err := target(args[0])
			if err != nil {
				return err
			}
			m, err := mode(args[1])
			if err != nil {
				return err
			}
			return r.asking(c, func(ctx context.Context, api rest.Client) error {
				a, err := api.SetMode(ctx, t, m)
				if err != nil {
					return fmt.Errorf("mode of %s: %w", t, err)
				}
				if r.json {
					return printJSON(c.OutOrStdout(), a)
				}
				return printMode(c.OutOrStdout(), a)
			})
		},
	}
	r.flags(c)
	return c
}

func printMode(w io.Writer, a rest.Moded) error {
	was := ""
	if !a.Changed {
		was = ", as before"
	}
	if a.Mode == core.Draining {
		was += "; " + goesOn(a.Running)
	}
	_, err := fmt.Fprintf(w, "%s: %s%s\n", a.Target, a.Mode, was)
	return err
}

// goesOn says what a draining table waits for.
func goesOn(e *core.Execution) string {
	if e == nil {
		return "nothing runs on it"
	}
	return fmt.Sprintf("execution %d (%s on %s) goes on", e.Number, e.Phase, e.Endpoint)
}
