package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/versity/versitygw/debuglogger"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/scratch"
	"github.com/sluice-data/sluice/core"
)

// Bucket is the one bucket that the gate shows.
const Bucket = "lake"

// Region is the region that clients name; it means nothing.
const Region = "us-east-1"

// ExecutionTimeout is the time-out that the clients of executions get in their options: longer than
// anything is held (60 s) and put (20 s).
const ExecutionTimeout = 120 * time.Second

const (
	maxConnections = 4096
	maxParts       = 10_000
)

// Config says what a gate stands before. Zero durations are the documented defaults.
type Config struct {
	// Lake is where everything is read and written; required. A wrapper around the real lake holds puts
	// below the gate, after their admission.
	Lake lake.Lake
	// Authority decides; required.
	Authority Authority
	// Address to listen on; empty means a free port of 127.0.0.1.
	Address string
	// TLS, if set, is spoken on Address. Engines then have a free port of 127.0.0.1 of their own, without.
	TLS *tls.Config
	// Scratch is a directory for bodies on their way, outside of the lake; empty means the system's.
	// The gate makes a private directory in it and removes it on Close.
	Scratch string
	// StorageTimeout is how long one put may take in storage, and how long the request of anybody but
	// an execution may be held. Default 20 s: clients give up at 30 s.
	StorageTimeout time.Duration
	// ExecutionHold is how long the put of an execution may be held before it goes to storage. Default 60 s.
	ExecutionHold time.Duration
	// ShardLanded, if set, is called when a shard's manifest has landed. It must not block.
	ShardLanded func(t core.Target, s core.ShardID)
	// Log gets one line a refusal. Default: slog.Default().
	Log *slog.Logger
}

func (c Config) validate() (Config, error) {
	if c.Lake == nil || c.Authority == nil {
		return c, errors.New("the gate needs a lake and an authority")
	}
	if c.StorageTimeout < 0 || c.ExecutionHold < 0 {
		return c, errors.New("the gate's time limits can't be negative")
	}
	c.StorageTimeout = cmp.Or(c.StorageTimeout, 20*time.Second)
	c.ExecutionHold = cmp.Or(c.ExecutionHold, 60*time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	return c, nil
}

// Gate is a running S3 endpoint. See [Start].
type Gate struct {
	cfg         Config
	addr        string  // where the library listens
	secure      *secure // nil without TLS
	scratch     *scratch.Dir
	credentials *credentials
	turns       *turns
	uploads     *uploads
	progress    *progress
	made        *made
	foreign     *foreign

	server *s3api.S3ApiServer
	served chan error
	// ctx bounds what outlives a request: a put that is with storage.
	ctx  context.Context
	stop context.CancelFunc
	puts sync.WaitGroup

	closing  sync.Once
	closeErr error
}

// Start listens and serves until [Gate.Close]. Several gates can run in one process. The error for an
// address that somebody else listens on is one line that says so. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Gate, error) {
	cfg, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	private, err := scratch.New(cfg.Scratch, "gate")
	if err != nil {
		return nil, fmt.Errorf("start the gate: %w", err)
	}
	g := &Gate{
		cfg: cfg, scratch: private, credentials: newCredentials(), turns: newTurns(), uploads: newUploads(private.Path()),
		progress: newProgress(), made: newMade(), foreign: newForeign(),
	}
	g.ctx, g.stop = context.WithCancel(context.Background())
	outside := cfg.Address
	if cfg.TLS != nil {
		g.cfg.Address = ""
	}
	if err := g.listen(ctx); err != nil {
		g.stop()
		return nil, errors.Join(err, private.Close())
	}
	if cfg.TLS != nil {
		if g.secure, err = newSecure(ctx, cmp.Or(outside, "127.0.0.1:0"), g.addr, cfg.TLS); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

// listen finds a port and waits until it is served. The library takes an address, not a listener, so a
// free port that somebody takes in between is given up for another one.
func (g *Gate) listen(ctx context.Context) error {
	debuglogger.SetLevel(debuglogger.LevelSilent)
	for range 5 {
		addr, err := reserve(ctx, g.cfg.Address)
		if err != nil {
			return err
		}
		err = g.serve(ctx, addr)
		if err == nil {
			g.addr = addr
			return nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || g.cfg.Address != "" {
			return err
		}
	}
	return errors.New("the gate found no free port on 127.0.0.1 in 5 tries")
}

// reserve checks that the address can be listened on and returns it with its port.
func reserve(ctx context.Context, address string) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(address, "127.0.0.1:0"))
	if errors.Is(err, syscall.EADDRINUSE) {
		return "", fmt.Errorf("the gate can't listen on %s: the port is in use; stop the other program or choose another port", address)
	}
	if err != nil {
		return "", fmt.Errorf("the gate can't listen on %s: %w", cmp.Or(address, "127.0.0.1"), err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (g *Gate) serve(ctx context.Context, addr string) error {
	ready := make(chan struct{})
	// The library wants an account that may do everything. Nobody knows its keys, and to our backend it
	// is as unknown as any other.
	root := middlewares.RootUserConfig{Access: "SL" + rand.Text(), Secret: rand.Text() + rand.Text()}
	server, err := s3api.New(&endpoint{gate: g}, root, Region, g.credentials, nil, nil, nil, nil,
		s3api.WithConcurrencyLimiter(maxConnections, maxConnections),
		s3api.WithMpMaxParts(maxParts),
		s3api.WithQuiet(),
		s3api.WithKeepAlive(),
		s3api.WithOnListen(func() { close(ready) }))
	if err != nil {
		return fmt.Errorf("make the gate's server: %w", err)
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeMultiPort([]string{addr}) }()
	select {
	case <-ready:
		g.server, g.served = server, served
		return nil
	case err := <-served:
		return fmt.Errorf("the gate can't listen on %s: %w", addr, err)
	case <-ctx.Done():
		err := errors.Join(ctx.Err(), server.ShutDown())
		<-served //nolint:errcheck // it says that the listener is closed
		return err
	}
}

// Addr is host:port of the endpoint.
func (g *Gate) Addr() string {
	if g.secure != nil {
		return g.secure.listener.Addr().String()
	}
	return g.addr
}

// URL is where programs reach the endpoint.
func (g *Gate) URL() string {
	if g.secure != nil {
		return "https://" + g.Addr()
	}
	return "http://" + g.Addr()
}

// StorageOptions are what pylance and LanceDB take as storage_options to reach the lake as s3://lake/…
// through the gate. Those of an execution have a longer time-out, because its commits may be held.
func (g *Gate) StorageOptions(c Credential) map[string]string {
	o := map[string]string{
		"aws_endpoint":          g.URL(),
		"aws_access_key_id":     c.AccessKey,
		"aws_secret_access_key": c.SecretKey,
		"aws_region":            Region,
	}
	if c.Caller.Class == core.ClassExecution {
		o["aws_endpoint"] = "http://" + g.addr // an engine is on this machine
		o["timeout"] = fmt.Sprintf("%ds", int(ExecutionTimeout.Seconds()))
	}
	if strings.HasPrefix(o["aws_endpoint"], "http:") {
		o["allow_http"] = "true"
	}
	return o
}

// Close stops listening, drops what is held, and waits for the puts that are with storage until their
// time limit. Closing again gives the same answer.
func (g *Gate) Close() error {
	g.closing.Do(func() { g.closeErr = g.close() })
	return g.closeErr
}

func (g *Gate) close() error {
	g.credentials.remove(func(core.Caller) bool { return true })
	if g.secure != nil {
		if err := g.secure.close(); err != nil {
			g.cfg.Log.Warn("close the gate's port", "error", err)
		}
	}
	err := g.server.ShutDown()
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // a client's connection without a request: it ends with that client or with us
	}
	<-g.served //nolint:errcheck // it says that the listener is closed
	g.puts.Wait()
	g.stop()
	if rerr := g.scratch.Close(); err == nil {
		err = rerr
	}
	if err != nil {
		return fmt.Errorf("close the gate at %s: %w", g.addr, err)
	}
	return nil
}
