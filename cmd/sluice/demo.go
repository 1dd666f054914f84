package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/cmd/sluice/demo"
)

func demoCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "demo --lake DIR",
		Short: "Show the protocol on two real tables, in a fresh directory",
		Long: `Show the protocol on two real tables, in a fresh directory.

The stock LanceDB client and pylance write both tables through the gate. Then Sluice merges them; a commit is held
below the gate until another execution has merged, and must be refused; an engine is killed while it writes. After
each step every row of the base is compared with the LSM view from before and with the writers' own record.

The limits on progress, cancelling and recovery are a few seconds here, so that nobody waits for minutes. The
directory keeps the tables.`,
		Example: "  sluice demo --lake /tmp/demo",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ctx, stop := interruptible(c.Context())
			defer stop()
			return runDemo(ctx, o, c.OutOrStdout())
		},
	}
	o.flags(c)
	o.quiet(c)
	return c
}

func runDemo(ctx context.Context, o options, out io.Writer) error {
	python, err := engine.FindPython(ctx, o.python)
	if err != nil {
		return err
	}
	said := out
	b := newBars(os.Stdout)
	if o.json {
		said, b.off = io.Discard, true
	}
	result, err := demo.Run(ctx, demo.Config{
		Lake: o.lake, Python: python, Log: o.log(), Watch: b.watch,
		Say:   func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) },
		Serve: func(ctx context.Context, n *embedded.Node) (func() error, error) { return serveNode(ctx, n, o) },
	})
	if o.json {
		if perr := printJSON(out, result); err == nil {
			err = perr
		}
		return err
	}
	if len(result.Steps) > 0 {
		fmt.Fprintln(out)
		if perr := result.Print(out); err == nil {
			err = perr
		}
	}
	return err
}

// serveNode opens the HTTP API of the demonstration's process.
func serveNode(ctx context.Context, n *embedded.Node, o options) (stop func() error, err error) {
	l, err := rest.Listen(ctx, freePort)
	if err != nil {
		return nil, err
	}
	served := &node{Node: n}
	served.serve(l, o.log())
	return served.server.Close, nil
}
