package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// tokenEnv holds the token that an operator shows to a fleet: process arguments are for everybody to see.
const tokenEnv = "SLUICE_TOKEN"

// reach is how a command reaches those who serve a lake: a master of a fleet by its address; or, on a directory, the
// running dev, and where there is none a process of its own that merges nothing.
type reach struct {
	options
	http, ca string
}

func (r *reach) flags(c *cobra.Command) {
	r.options.flags(c)
	r.quiet(c)
	c.Flags().StringVar(&r.http, "http", "", "URL of a master's HTTP API, instead of --lake; its token comes from $"+tokenEnv)
	c.Flags().StringVar(&r.ca, "tls-ca", "", "authority of the fleet's certificates (PEM; default: the system's)")
}

func (r *reach) check() error {
	switch {
	case r.http == "":
		if r.lake == "" {
			return usagef("--lake or --http is missing: name the directory that holds the tables, or a master's URL")
		}
		return nil
	case r.lake != "":
		return usagef("--lake and --http don't go together: a master knows its lake")
	}
	u, err := url.Parse(r.http)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" {
		return usagef("--http is %q, which is not http://HOST:PORT or https://HOST:PORT", r.http)
	}
	r.http = u.Scheme + "://" + u.Host
	return nil
}

// open finds who is to be asked; done ends what was started for that.
func (r *reach) open(ctx context.Context) (api rest.Client, done func() error, err error) {
	none := func() error { return nil }
	if r.http != "" {
		secure, err := authority(r.ca)
		return rest.Client{URL: r.http, Caller: rest.NewCaller(os.Getenv(tokenEnv), secure)}, none, err
	}
	g, err := survey(ctx, r.lake, r.python)
	if err != nil {
		return api, none, err
	}
	if g.busy {
		g.close()
		return g.other, none, nil
	}
	n, err := start(ctx, settings{lake: g.lake.Dir(), python: g.python, http: freePort, log: r.log()})
	if err != nil {
		g.close()
		return api, none, err
	}
	n.Worker.StopTaking() // it is here for an answer, and ends with it
	return n.api, func() error {
		defer g.close()
		return n.stop(context.WithoutCancel(ctx), time.Second)
	}, nil
}

// authority is what certificates are verified by; nil is what the system trusts.
func authority(file string) (*tls.Config, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %w", err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !cfg.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--tls-ca: %s holds no certificate", file)
	}
	return cfg, nil
}

// asking runs what a command asks for, with whoever it reaches.
func (r *reach) asking(c *cobra.Command, do func(ctx context.Context, api rest.Client) error) (err error) {
	if err := r.check(); err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	api, done, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return do(ctx, api)
}

// mode reads a mode from the command line.
func mode(name string) (core.Mode, error) {
	switch m := core.Mode(name); m {
	case core.Direct, core.Owned, core.Draining:
		return m, nil
	}
	return "", usagef("mode is %q; use direct, owned or draining", name)
}
