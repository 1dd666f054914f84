package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/fleet"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// etcdPasswordEnv holds the password that goes with --etcd-user: process arguments are for everybody to see.
const etcdPasswordEnv = "SLUICE_ETCD_PASSWORD"

// fleetFlags are what masters and workers have in common.
type fleetFlags struct {
	lake, kv, http, advertise string
	owned, drain              string
	tokens                    string
	security                  rest.Security
	etcd                      etcd.Config
	limits                    *limits
}

func (o *fleetFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.lake, "lake", "", "what holds the tables: a directory, or s3://BUCKET/PREFIX")
	f.StringVar(&o.kv, "kv", "", "the fleet's KV: etcd:HOST:PORT,HOST:PORT")
	f.StringVar(&o.http, "http", freePort, "address of the HTTP API; others than 127.0.0.1 need --tokens or --tls-ca")
	f.StringVar(&o.owned, "owned", "", "tables to merge, comma-separated (default: $"+ownedEnv+")")
	f.StringVar(&o.drain, "drain", "", "tables to drain, comma-separated (default: $"+drainEnv+")")
	o.accessFlags(c)
	o.etcdFlags(c)
	o.limits = limitFlags(c)
	o.deathFlags(c)
}

// deathFlags say how soon the fleet takes a silent process for dead. They are for drills: what is short here
// costs requests, and mistakes a slow network for a death.
func (o *fleetFlags) deathFlags(c *cobra.Command) {
	f := c.Flags()
	f.DurationVar(&o.limits.Probe, "probe", 10*time.Second, "ask workers about their merges so often")
	f.DurationVar(&o.etcd.LeaseTTL, "etcd-lease", etcd.DefaultLeaseTTL, "how long a registration outlives its process, in whole seconds")
	for _, name := range []string{"probe", "etcd-lease"} {
		_ = f.MarkHidden(name) // it is one of those above
	}
}

// accessFlags say how the processes of the fleet find and know each other.
func (o *fleetFlags) accessFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.advertise, "advertise", "", "URL by which the fleet reaches the HTTP API (default: its address)")
	f.StringVar(&o.tokens, "tokens", "", "file with a line ROLE TOKEN for fleet, operator and reader")
	f.StringVar(&o.security.Cert, "tls-cert", "", "certificate of the HTTP API and the gate (PEM)")
	f.StringVar(&o.security.Key, "tls-key", "", "its key (PEM)")
	f.StringVar(&o.security.CA, "tls-ca", "", "authority of the fleet's certificates, which may name roles (PEM; default: the system's)")
}

// etcdFlags say how etcd is reached.
func (o *fleetFlags) etcdFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.etcd.Prefix, "etcd-prefix", etcd.DefaultPrefix, "what every key of this lake begins with")
	f.StringVar(&o.etcd.CA, "etcd-ca", "", "authority of etcd's certificates (PEM)")
	f.StringVar(&o.etcd.Cert, "etcd-cert", "", "client certificate for etcd (PEM)")
	f.StringVar(&o.etcd.Key, "etcd-key", "", "its key (PEM)")
	f.StringVar(&o.etcd.Username, "etcd-user", "", "user of etcd; the password comes from $"+etcdPasswordEnv)
}

// common checks the flags and opens what both kinds of processes need. Nothing is asked of the KV yet, which
// may be down.
func (o *fleetFlags) common(ctx context.Context, c *cobra.Command) (out fleet.Common, err error) {
	out = fleet.Common{Advertise: o.advertise, Version: version, Log: logTo(os.Stderr)}
	if out.Owned, err = targets(o.owned, c.Flags().Changed("owned"), ownedEnv); err != nil {
		return out, err
	}
	if out.Draining, err = targets(o.drain, c.Flags().Changed("drain"), drainEnv); err != nil {
		return out, err
	}
	if out.Limits, err = o.limits.resolve(); err != nil {
		return out, err
	}
	if o.lake == "" {
		return out, usagef("--lake is missing: name the directory or s3://BUCKET/PREFIX that holds the tables")
	}
	store, err := o.store()
	if err != nil {
		return out, err
	}
	if o.tokens != "" {
		if o.security.Tokens, err = rest.ReadTokens(o.tokens); err != nil {
			return out, usagef("--tokens: %w", err)
		}
	}
	if err := o.security.Validate(); err != nil {
		return out, usagef("%w", err)
	}
	out.KV, out.Security = store, o.security
	if out.Listener, err = o.security.Listen(ctx, o.http); err != nil {
		return out, err
	}
	if out.Lake, err = openLake(ctx, o.lake); err != nil {
		return out, errors.Join(err, out.Listener.Close())
	}
	return out, nil
}

// openLake opens a directory or s3://BUCKET/PREFIX.
func openLake(ctx context.Context, name string) (lake.Lake, error) {
	if strings.HasPrefix(name, "s3://") {
		return lake.OpenS3(ctx, name)
	}
	return lake.OpenLocal(name)
}

func (o *fleetFlags) store() (*etcd.Store, error) {
	hosts, ok := strings.CutPrefix(o.kv, "etcd:")
	if !ok {
		return nil, usagef("--kv is %q: a fleet needs etcd, written as etcd:HOST:PORT,HOST:PORT; one process alone is sluice dev", o.kv)
	}
	cfg := o.etcd
	cfg.Endpoints, cfg.Password = strings.Split(hosts, ","), os.Getenv(etcdPasswordEnv)
	store, err := etcd.Open(cfg)
	if err != nil {
		return nil, usagef("--kv: %w", err)
	}
	return store, nil
}

// member is a process of the fleet.
type member interface {
	Ready() error
	Ended() <-chan struct{}
	Close() error
}

// serve goes on until a signal comes or the process can't go on. drain lets what runs come to its end; a
// second signal cuts it short, which is as safe as a crash.
func serve(ctx context.Context, m member, drain func(context.Context) error, log *slog.Logger) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	select {
	case <-m.Ended():
		return errors.Join(m.Ready(), m.Close())
	case s := <-signals:
		log.Info("stopping: what runs comes to its end; once more ends it at once", "signal", s.String())
	}
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		stopped <- errors.Join(drain(ctx), m.Close())
	}()
	select {
	case err := <-stopped:
		return err
	case s := <-signals:
		log.Warn("ending at once: the fleet recovers what is left", "signal", s.String())
		return errors.New("ended before the running merge did; nothing is lost, the fleet recovers it")
	}
}

// hostName is the default of names that stay the same after a restart.
func hostName() (string, error) {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "", fmt.Errorf("this machine has no name; give one by the flag: %w", err)
	}
	return name, nil
}

// gateAddress checks where a gate may listen. It has passwords of its own, so any address will do.
func gateAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return usagef("--gate is %q, which is not host:port, such as 127.0.0.1:9000", address)
	}
	return nil
}

// endpoint checks a worker's name.
func endpoint(name string) (core.Endpoint, error) {
	if name == "" || strings.HasPrefix(name, "~") || strings.ContainsAny(name, "/\x00 \n") {
		return "", usagef("--endpoint is %q: a name has no slash and no space, and doesn't begin with ~", name)
	}
	return core.Endpoint(name), nil
}
