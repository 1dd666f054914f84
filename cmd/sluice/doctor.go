package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/doctor"
	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/lake"
)

// doctorFlags are those of the processes that are going to run here, as far as the doctor looks at them.
type doctorFlags struct {
	fleet        fleetFlags
	python, gate string
	slots        int
	json         bool
}

func doctorCommand() *cobra.Command {
	var o doctorFlags
	c := &cobra.Command{
		Use:   "doctor --lake LAKE",
		Short: "Try out the lake, the KV, Python, ports and memory, before anything runs on them",
		Long: `Try out the lake, the KV, Python, ports and memory, before anything runs on them: with the flags and in the
place in which a worker is going to run. It proves what it says: it puts and lists objects in the lake, makes
a key in the KV, loads pylance. It leaves nothing behind.

Each check is one line: ok, warning or FAILED, what was seen, and what to do about it. The exit code is 0 if
nothing has failed.`,
		Example: "  sluice doctor --lake s3://tables/prod --kv etcd:etcd-0:2379 --http 0.0.0.0:8080 --gate 0.0.0.0:9000",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := interruptible(c.Context())
			defer stop()
			return o.run(ctx, c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.fleet.lake, "lake", "", "what holds the tables: a directory, or s3://BUCKET/PREFIX")
	f.StringVar(&o.fleet.kv, "kv", "", "etcd:HOST:PORT,HOST:PORT or bolt:FILE (default: the state file of a directory)")
	f.StringVar(&o.fleet.http, "http", freePort, "address of the HTTP API")
	f.StringVar(&o.gate, "gate", freePort, "address of the S3 gate")
	f.StringVar(&o.python, "python", "", "Python with the pinned pylance (default: $SLUICE_PYTHON, .venv/bin/python, python3)")
	f.IntVar(&o.slots, "slots", 1, "merges at a time")
	f.BoolVar(&o.json, "json", false, "print JSON")
	o.fleet.accessFlags(c)
	o.fleet.etcdFlags(c)
	return c
}

func (o *doctorFlags) run(ctx context.Context, w io.Writer) error {
	if o.fleet.lake == "" {
		return usagef("--lake is missing: name the directory or s3://BUCKET/PREFIX that holds the tables")
	}
	if o.slots < 1 {
		return usagef("--slots is %d; at least 1 is needed", o.slots)
	}
	l, unopened := openLake(ctx, o.fleet.lake)
	checks := []doctor.Check{doctor.Opened(unopened)}
	if unopened != nil {
		l = nil
	} else {
		if c, ok := l.(io.Closer); ok {
			defer c.Close()
		}
		checks = append(checks, doctor.Lake(l))
	}
	ofKV, end, err := o.kvChecks(l)
	if err != nil {
		return err
	}
	defer end()
	checks = append(checks, ofKV...)
	checks = append(checks, doctor.Python(o.python), doctor.Engine(o.python))
	if bucket, ok := l.(*lake.S3); ok {
		checks = append(checks, doctor.Apart(o.python, bucket))
	}
	checks = append(checks, doctor.Access(o.fleet.tokens, o.fleet.security, o.fleet.advertise), doctor.Port("http", o.fleet.http), doctor.Port("gate", o.gate),
		doctor.Memory(os.DirFS("/"), o.slots), doctor.Scratch(os.TempDir()))
	return o.examine(ctx, w, checks)
}

// kvChecks are those of the KV that the flags name; end closes what they use.
func (o *doctorFlags) kvChecks(l lake.Lake) (checks []doctor.Check, end func(), err error) {
	end = func() {}
	file, isFile := strings.CutPrefix(o.fleet.kv, "bolt:")
	if local, ok := l.(*lake.Local); ok && o.fleet.kv == "" {
		file, isFile = filepath.Join(local.Dir(), embedded.Folder, embedded.StateFile), true
	}
	switch {
	case isFile && file == "":
		return nil, end, usagef("--kv is %q, which names no file: write bolt:FILE", o.fleet.kv)
	case isFile:
		return doctor.Bolt(file, l), end, nil
	case o.fleet.kv == "":
		return nil, end, nil // nothing is known of it: the lake alone is looked at
	}
	store, err := o.fleet.store()
	if err != nil {
		return nil, end, err
	}
	return []doctor.Check{doctor.Etcd(store, l)}, func() { _ = store.Close() }, nil
}

// examine prints each finding as it comes, or all of them as JSON.
func (o *doctorFlags) examine(ctx context.Context, w io.Writer, checks []doctor.Check) error {
	all := []doctor.Finding{}
	var printing error
	failures := doctor.Examine(ctx, checks, func(f doctor.Finding) {
		all = append(all, f)
		if o.json {
			return
		}
		line := fmt.Sprintf("%-8s %-16s %s", f.Verdict, f.Check, oneLine(errors.New(f.Said)))
		if f.Hint != "" {
			line += ": " + f.Hint
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			printing = err
		}
	})
	if o.json {
		printing = printJSON(w, map[string]any{"findings": all, "failed": failures})
	}
	switch {
	case printing != nil:
		return printing
	case ctx.Err() != nil:
		return errors.New("interrupted before everything was looked at")
	case failures > 0:
		return fmt.Errorf("%d of %d checks failed", failures, len(all))
	}
	return nil
}
