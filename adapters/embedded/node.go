// Package embedded runs everything in one process on a local lake: bbolt, gate, one worker, one master.
// `sluice dev`, `sluice merge`, `sluice adopt` and `sluice demo` are made of it, and so are the tests.
package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/driver"
	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// Config says how to run. The zero value of every field but Lake and Python is its default.
type Config struct {
	// Lake is the directory that holds the tables.
	Lake string
	// Python is the interpreter that has the pinned pylance; see [engine.FindPython].
	Python string
	// Owned and Draining are declared for as long as this process lives.
	Owned, Draining []core.Target
	// Endpoint is the worker's stable name; default "embedded".
	Endpoint core.Endpoint
	// GateAddress is where the gate listens; default: a free port of 127.0.0.1.
	GateAddress string
	// Slots is how many merges run at a time; default 1.
	Slots  int
	Limits core.Limits
	Pass   core.PassLimits
	// StorageTimeout bounds one put of the gate; default 20 s.
	StorageTimeout time.Duration
	// EngineMemory bounds one engine; default 4 GiB.
	EngineMemory core.Bytes
	// Below, if set, wraps the lake below the gate: only demo and tests insert it.
	Below func(lake.Lake) lake.Lake
	// AroundKV, if set, wraps the KV once it is known to be this lake's: only tests insert it.
	AroundKV func(kv.KV) kv.KV
	// Log gets one line a decision; default slog.Default().
	Log *slog.Logger
}

// Node is a running process. See [Open].
type Node struct {
	KV     kv.KV
	Lake   *lake.Local
	Gate   *gate.Gate
	Worker *driver.Worker
	Master *driver.Master
	Engine *engine.Engine
	// Client is the credential for the user's own programs.
	Client gate.Credential
	// ID is this KV's record: its id, and the lake that it serves.
	ID core.KVRecord
}

// Folder is where Sluice keeps its own files in a lake; listings of tables and clients never see it.
const Folder = "_sluice"

// StateFile is the embedded KV's file in a lake.
const StateFile = "state.db"

// Open checks the lake and runs everything until Close. It writes nothing into a lake that it refuses.
func Open(ctx context.Context, cfg Config) (n *Node, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = "embedded"
	}
	if err := cfg.Limits.Validate(); err != nil {
		return nil, err
	}
	n = &Node{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
			n = nil
		}
	}()
	if n.Lake, err = lake.OpenLocal(cfg.Lake); err != nil {
		return n, err
	}
	if err := n.openKV(ctx); err != nil {
		return n, err
	}
	if cfg.AroundKV != nil {
		n.KV = cfg.AroundKV(n.KV)
	}
	return n, n.run(ctx, cfg)
}

// openKV opens the state file and makes sure that this lake and this KV belong together.
func (n *Node) openKV(ctx context.Context) error {
	if err := lake.Probe(ctx, n.Lake); err != nil {
		return err
	}
	store, err := bolt.Open(ctx, filepath.Join(n.Lake.Dir(), Folder, StateFile))
	if err != nil {
		return err
	}
	n.KV = store
	if n.ID, err = kv.Identify(ctx, n.KV, n.Lake.URI()); err != nil {
		return err
	}
	return lake.Claim(ctx, n.Lake, n.ID.ID)
}

// run starts the machines. The gate stands before the lake as the wrapper shows it; fences go beside it.
func (n *Node) run(ctx context.Context, cfg Config) (err error) {
	below := lake.Lake(n.Lake)
	if cfg.Below != nil {
		below = cfg.Below(n.Lake)
	}
	n.Engine, err = engine.New(engine.Config{Python: cfg.Python, MemoryLimit: cfg.EngineMemory, Log: cfg.Log})
	if err != nil {
		return err
	}
	world := driver.World{KV: n.KV, Lake: n.Lake, Fenced: func(t core.Target, v core.Version) { n.Gate.Passed(t, v) }}
	instance := core.Instance(rand.Text())
	declares := core.Declaration{Owned: cfg.Owned, Draining: cfg.Draining}
	worker := driver.NewWorker(core.WorkerConfig{
		Endpoint: cfg.Endpoint, Instance: instance, Slots: cfg.Slots, Declares: declares, Limits: cfg.Limits, Pass: cfg.Pass,
	}, world, cfg.Log)
	n.Gate, err = gate.Start(ctx, gate.Config{
		Lake: below, Authority: worker, Address: cfg.GateAddress, StorageTimeout: cfg.StorageTimeout, Log: cfg.Log,
	})
	if err != nil {
		return err
	}
	if n.Client, err = n.Gate.GrantClient("", ""); err != nil {
		return err
	}
	n.Worker = worker
	n.Worker.Run(n.Gate, n.Engine)
	n.Master = driver.NewMaster(core.MasterConfig{
		ID: string(cfg.Endpoint), Instance: instance, Declares: declares, Limits: cfg.Limits,
	}, world, driver.Local{Worker: worker}, cfg.Log)
	n.Master.Run()
	return nil
}

// Drain takes nothing new and lets what runs come to its end, until ctx ends; then it cancels the rest and
// waits for that.
func (n *Node) Drain(ctx context.Context) error {
	if n.Worker == nil {
		return nil
	}
	// The master would go on to reserve for a worker that takes nothing any more.
	n.Master.Close()
	if n.Worker.Drain(ctx) == nil {
		return nil
	}
	n.Worker.CancelAll(core.Failure{Code: core.CodeCancelled, Detail: "the process is stopping"})
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := n.Worker.Drain(rest); err != nil {
		return fmt.Errorf("stop the worker: %w; the next process recovers what is left", err)
	}
	return nil
}

// Close ends everything at once; it is safe at any moment, and so is no Close at all.
func (n *Node) Close() error {
	var errs []error
	if n.Master != nil {
		n.Master.Close()
	}
	if n.Gate != nil {
		errs = append(errs, n.Gate.Close())
	}
	if n.Worker != nil {
		n.Worker.Close()
	}
	if n.Engine != nil {
		errs = append(errs, n.Engine.Close())
	}
	if n.KV != nil {
		errs = append(errs, n.KV.Close())
	}
	if n.Lake != nil {
		errs = append(errs, n.Lake.Close())
	}
	return errors.Join(errs...)
}
