package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

func policyCommand() *cobra.Command {
	var r reach
	var file string
	c := &cobra.Command{
		Use:   "policy (--lake DIR | --http URL) TARGET [--set FILE]",
		Short: "Show or replace what is different for one table",
		Long: `Show or replace the policy of a table: a JSON document with its mode and with what is to be different from the
configuration of the processes. It has the fields mode, pending_generations, pending_seconds, pass_generations,
pass_bytes, queue_seconds, execution_seconds, no_progress_seconds, kinds, maintenance_seconds, small_fragments,
reader_grace_seconds and reclaim_retention_seconds, each of which may be left out; {} removes the policy.

--set replaces the whole document, at once also for what runs. Another mode in it obeys the rules of "sluice mode".`,
		Example: "  sluice policy --lake ./lake db/events\n  echo '{\"pending_generations\": 4}' | sluice policy --lake ./lake db/events --set -",
		Args:    oneTarget,
		RunE: func(c *cobra.Command, args []string) error {
			t, err := target(args[0])
			if err != nil {
				return err
			}
			var doc *core.Policy
			if c.Flags().Changed("set") {
				if doc, err = readPolicy(file, c.InOrStdin()); err != nil {
					return err
				}
			}
			return r.asking(c, func(ctx context.Context, api rest.Client) error {
				a, err := exchangePolicy(ctx, api, t, doc)
				if err != nil {
					return fmt.Errorf("policy of %s: %w", t, err)
				}
				if r.json {
					return printJSON(c.OutOrStdout(), a)
				}
				return printJSON(c.OutOrStdout(), a.Policy)
			})
		},
	}
	r.flags(c)
	c.Flags().StringVar(&file, "set", "", "file with the new document; - reads it from stdin")
	return c
}

// exchangePolicy shows the policy of a table, after it was replaced if there is a new one.
func exchangePolicy(ctx context.Context, api rest.Client, t core.Target, doc *core.Policy) (rest.TargetPolicy, error) {
	if doc == nil {
		return api.Policy(ctx, t)
	}
	return api.SetPolicy(ctx, t, *doc)
}

// maxPolicy bounds a document.
const maxPolicy = 64 << 10

// readPolicy reads a document and refuses what it doesn't know.
func readPolicy(file string, stdin io.Reader) (*core.Policy, error) {
	from := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("--set: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPolicy))
	if err != nil {
		return nil, usagef("--set: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	doc := &core.Policy{}
	if err := d.Decode(doc); err != nil {
		return nil, usagef("--set %s is no policy: %w", file, err)
	}
	if d.More() {
		return nil, usagef("--set %s holds more than one document", file)
	}
	if err := doc.Validate(); err != nil {
		return nil, usagef("--set %s: %w", file, err)
	}
	return doc, nil
}
