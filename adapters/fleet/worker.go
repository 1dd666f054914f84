// Package fleet makes the processes of a fleet: masters and workers that share one KV and one lake and know
// nothing else of each other. `sluice master` and `sluice worker` are made of it.
//
// A process starts whatever else is down. Until its KV has answered, and said that it serves this lake, a
// worker runs no execution and a master claims nothing; both serve their health.
package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/sluice-data/sluice/adapters/driver"
	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// Common is what both kinds of processes are started with.
type Common struct {
	// Lake and KV are opened by the caller, and closed by Close.
	Lake lake.Lake
	KV   kv.KV
	// Owned and Draining are declared for as long as this process lives.
	Owned, Draining []core.Target
	Limits          core.Limits
	Security        rest.Security
	// Listener is where the API is served; Advertise is the URL by which others reach it, "" for the
	// listener's own address.
	Listener  net.Listener
	Advertise string
	Version   string
	Log       *slog.Logger
}

// url is where other processes reach this one.
func (c Common) url() string {
	if c.Advertise != "" {
		return c.Advertise
	}
	return c.Security.URL(c.Listener)
}

func (c Common) declares() core.Declaration {
	return core.Declaration{Owned: c.Owned, Draining: c.Draining}
}

// WorkerConfig says how to run a worker.
type WorkerConfig struct {
	Common
	// Endpoint is its stable name: the same after a restart.
	Endpoint core.Endpoint
	// Python is the interpreter that has the pinned pylance.
	Python string
	// GateAddress is where the gate listens; "" is a free port of the loopback.
	GateAddress string
	// ClientKey and ClientSecret are the credential of the user's own programs at the gate; "" draws one.
	ClientKey, ClientSecret string
	Slots                   int
	Pass                    core.PassLimits
	EngineMemory            core.Bytes
	// Unsafe says why the lake can't keep what the protocol builds on; "" if it can.
	Unsafe string
}

// Worker is a running worker. See [OpenWorker].
type Worker struct {
	Gate   *gate.Gate
	Driver *driver.Worker
	Client gate.Credential
	Server *rest.Server

	kv      *confirmed
	lake    lake.Lake
	engine  *engine.Engine
	stop    context.CancelFunc
	waiting sync.WaitGroup
}

// OpenWorker runs a worker until Close.
func OpenWorker(ctx context.Context, cfg WorkerConfig) (w *Worker, err error) {
	w = &Worker{kv: newConfirmed(cfg.KV, cfg.Lake), lake: cfg.Lake}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
			w = nil
		}
	}()
	if w.engine, err = engine.New(engine.Config{Python: cfg.Python, MemoryLimit: cfg.EngineMemory, Log: cfg.Log}); err != nil {
		return w, err
	}
	world := driver.World{KV: w.kv, Lake: cfg.Lake, Fenced: func(t core.Target, v core.Version) { w.Gate.Passed(t, v) }}
	w.Driver = driver.NewWorker(core.WorkerConfig{
		Endpoint: cfg.Endpoint, Instance: core.Instance(rand.Text()), Address: cfg.url(), Slots: cfg.Slots,
		Declares: cfg.declares(), Limits: cfg.Limits, Pass: cfg.Pass, Unsafe: cfg.Unsafe,
	}, world, cfg.Log)
	secure, err := cfg.Security.Gate()
	if err != nil {
		return w, err
	}
	if w.Gate, err = gate.Start(ctx, gate.Config{
		Lake: cfg.Lake, Authority: w.Driver, Address: cfg.GateAddress, TLS: secure, Log: cfg.Log,
	}); err != nil {
		return w, err
	}
	if w.Client, err = w.Gate.GrantClient(cfg.ClientKey, cfg.ClientSecret); err != nil {
		return w, err
	}
	w.Driver.Run(w.Gate, w.engine)
	if w.Server, err = cfg.Security.Serve(cfg.Listener, rest.NewExecutorHandler(rest.ExecutorConfig{
		Executor: w.Driver, Ready: w.Ready, Version: cfg.Version,
	}), cfg.Log); err != nil {
		return w, err
	}
	w.waiting.Go(func() { w.kv.confirm(life, cfg.Log) })
	return w, nil
}

// Ready says why this worker runs no execution; nil while it can.
func (w *Worker) Ready() error {
	if _, err := w.kv.Identity(); err != nil {
		return fmt.Errorf("the KV does not serve this worker, so it runs no execution: %w", err)
	}
	if twin, ok := w.Driver.Twin(); ok {
		return fmt.Errorf("another process is registered as worker %s, at %s, so this one runs no execution: give each worker a name of its own", twin.Endpoint, twin.Address)
	}
	return nil
}

// Ended is closed once this process can't go on, and must end: [Worker.Ready] says why.
func (w *Worker) Ended() <-chan struct{} { return w.kv.ended }

// Drain takes nothing new and lets what runs come to its end, until ctx ends; then it cancels the rest and
// waits for that.
func (w *Worker) Drain(ctx context.Context) error {
	if w.Driver.Drain(ctx) == nil {
		return nil
	}
	w.Driver.CancelAll(core.Failure{Code: core.CodeCancelled, Detail: "the worker is stopping"})
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
	defer cancel()
	if err := w.Driver.Drain(rest); err != nil {
		return fmt.Errorf("stop the worker: %w; the fleet recovers what is left", err)
	}
	return nil
}

// cancelPatience is how long executions that were cancelled may take to end.
const cancelPatience = 5 * time.Second

// Close ends everything at once; it is safe at any moment, and so is no Close at all.
func (w *Worker) Close() error {
	w.stop()
	w.waiting.Wait()
	var errs []error
	if w.Server != nil {
		errs = append(errs, w.Server.Close())
	}
	if w.Gate != nil {
		errs = append(errs, w.Gate.Close())
	}
	if w.Driver != nil && w.Gate != nil {
		w.Driver.Close()
	}
	if w.engine != nil {
		errs = append(errs, w.engine.Close())
	}
	return errors.Join(append(errs, w.kv.Close(), closeLake(w.lake))...)
}

// closeLake closes a lake that holds something open.
func closeLake(l lake.Lake) error {
	if c, ok := l.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}
