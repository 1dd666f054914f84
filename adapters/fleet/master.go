package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/sluice-data/sluice/adapters/driver"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// MasterConfig says how to run a master.
type MasterConfig struct {
	Common
	// ID names it; two masters have two names.
	ID string
}

// Master is a running master. See [OpenMaster].
type Master struct {
	Driver *driver.Master
	Server *rest.Server

	kv      *confirmed
	lake    lake.Lake
	stop    context.CancelFunc
	waiting sync.WaitGroup
}

// OpenMaster runs a master until Close.
func OpenMaster(ctx context.Context, cfg MasterConfig) (m *Master, err error) {
	m = &Master{kv: newConfirmed(cfg.KV, cfg.Lake), lake: cfg.Lake}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
			m = nil
		}
	}()
	caller, err := cfg.Security.Caller(rest.Fleet)
	if err != nil {
		return m, err
	}
	workers := rest.Workers{Caller: caller}
	driven := driver.NewMaster(core.MasterConfig{
		ID: cfg.ID, Instance: core.Instance(rand.Text()), Address: cfg.url(), Declares: cfg.declares(), Limits: cfg.Limits,
		Trigger: core.DefaultTrigger,
	}, driver.World{KV: m.kv, Lake: cfg.Lake}, workers, cfg.Log)
	if m.Server, err = cfg.Security.Serve(cfg.Listener, rest.NewHandler(rest.Config{
		KV: m.kv, Lake: cfg.Lake, Master: driven, Worker: elsewhere{m.kv, workers}, Identity: m.kv.Identity, Version: cfg.Version,
		Drain: func(ctx context.Context, w core.WorkerRecord) (core.Load, error) {
			return workers.Drain(ctx, w.Address)
		},
	}), cfg.Log); err != nil {
		return m, err
	}
	m.Driver = driven
	m.Driver.Run()
	m.waiting.Go(func() { m.kv.confirm(life, cfg.Log) })
	return m, nil
}

// Ready says why this master claims nothing; nil while it can.
func (m *Master) Ready() error {
	if _, err := m.kv.Identity(); err != nil {
		return fmt.Errorf("the KV does not serve this master, so it claims nothing: %w", err)
	}
	return nil
}

// Ended is closed once this process can't go on, and must end: [Master.Ready] says why.
func (m *Master) Ended() <-chan struct{} { return m.kv.ended }

// Close ends everything at once; it is safe at any moment, and so is no Close at all. What it has reserved is
// taken on by another master.
func (m *Master) Close() error {
	m.stop()
	m.waiting.Wait()
	var errs []error
	if m.Server != nil {
		errs = append(errs, m.Server.Close())
	}
	if m.Driver != nil {
		m.Driver.Close()
	}
	return errors.Join(append(errs, m.kv.Close(), closeLake(m.lake))...)
}

// elsewhere asks the worker that runs an execution, wherever that is.
type elsewhere struct {
	kv      kv.KV
	workers rest.Workers
}

// Status implements [rest.Worker].
func (e elsewhere) Status(ctx context.Context, t core.Target, id core.ExecutionID) (core.Status, error) {
	s, err := e.kv.Read(ctx, core.Range{Key: core.ExecutionKey(t)}, core.WorkerRange())
	if err != nil {
		return core.Status{}, fmt.Errorf("find the worker of %s: %w", t, err)
	}
	v := core.ViewOf(s.Revision, s.Records)
	runs := v.Target(t).Execution.Value
	for _, w := range v.Workers {
		if runs.ID == id && w.Value.Endpoint == runs.Endpoint {
			return e.workers.Status(ctx, w.Value.Address, t, id)
		}
	}
	return core.Status{}, nil
}
