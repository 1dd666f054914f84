package main

import (
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/core"
)

// options are the flags that several commands have.
type options struct {
	lake    string
	python  string
	json    bool
	verbose bool
}

func (o *options) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.lake, "lake", "", "directory that holds the tables")
	c.Flags().StringVar(&o.python, "python", "", "Python with the pinned pylance (default: $SLUICE_PYTHON, .venv/bin/python, python3)")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
}

// quiet adds the flag of commands that log nothing otherwise.
func (o *options) quiet(c *cobra.Command) {
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "log each decision on stderr")
}

func (o *options) check() error {
	if o.lake == "" {
		return usagef("--lake is missing: name the directory that holds the tables")
	}
	return nil
}

// log is for decisions, one line each.
func (o *options) log() *slog.Logger {
	if !o.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return logTo(os.Stderr)
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// target reads a table's name from the command line.
func target(name string) (core.Target, error) {
	t, err := core.ParseTarget(name)
	if err != nil {
		return "", usagef("%w", err)
	}
	return t, nil
}

// targets reads a comma-separated list of exact names: from the flag, or where it isn't given from the
// environment. There is no wildcard: a table is owned because somebody has named it.
func targets(flag string, given bool, env string) ([]core.Target, error) {
	list, from := flag, "the flag"
	if !given {
		list, from = os.Getenv(env), env
	}
	var out []core.Target
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		t, err := core.ParseTarget(name)
		if err != nil {
			return nil, usagef("%s: %w", from, err)
		}
		if strings.ContainsAny(name, "*?[") {
			return nil, usagef("%s: target %q looks like a pattern; name each table exactly", from, name)
		}
		out = append(out, t)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
