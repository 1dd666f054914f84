// Sluice merges the write-ahead data of Lance tables into their base tables. One binary, one file a
// subcommand.
//
// Exit codes: 0 done or nothing to do; 1 failed; 2 the command line is wrong; `sluice sim` has more of them.
// What went wrong is one line on stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// version is stamped by -ldflags "-X main.version=…".
var version = "unknown"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "sluice: "+oneLine(err))
	var usage *usageError
	if errors.As(err, &usage) {
		return 2
	}
	var verdict *verdictError
	if errors.As(err, &verdict) {
		return exit(verdict.verdict)
	}
	return 1
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "Merge the write-ahead data of Lance tables, with one owner for each merge",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q; see sluice --help", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(devCommand(), masterCommand(), workerCommand(), mergeCommand(), adoptCommand(), modeCommand(), policyCommand(), drainCommand(), failuresCommand(), demoCommand(), simCommand(), versionCommand())
	root.AddCommand(doctorCommand())
	return root
}

// usageError says that the command line is wrong: nothing was tried.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// oneTarget takes exactly one argument.
func oneTarget(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s takes one table, for example db/events; it got %d", c.CommandPath(), len(args))
	}
	return nil
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument %q", c.CommandPath(), args[0])
	}
	return nil
}

// oneLine keeps errors to one line, also those that are several.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
