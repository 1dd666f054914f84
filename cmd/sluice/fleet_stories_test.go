package main_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// The stories that operators ask for by their names, each on an etcd of its own, with real processes, engines,
// signals and connections. The simulator tells the same ones (sim/testdata/scenarios) with every step in view.

// freeze stops the engine that a worker has started ahead, so that the next execution gets nowhere, until the returned
// function lets it go on.
func freeze(p *running) (thaw func()) {
	p.t.Helper()
	var stopped []int
	await(p.t, 40*time.Second, func() (bool, string) {
		stopped = p.engines()
		return len(stopped) > 0, p.logged()
	})
	for _, fd := range stopped {
		_ = unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0) // one that has ended needs no stopping
	}
	return func() {
		for _, fd := range stopped {
			_ = unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
		}
	}
}

// target is what a master says of a table.
func (f *fleetOf) target(m *running, name core.Target) rest.Target {
	f.t.Helper()
	t, err := m.api.Target(f.t.Context(), name)
	must(f.t, err)
	return t
}

// reason waits until a table does not run for this reason.
func (f *fleetOf) reason(m *running, name core.Target, want core.Reason) {
	f.t.Helper()
	await(f.t, 40*time.Second, func() (bool, string) {
		t, err := m.api.Target(f.t.Context(), name)
		return err == nil && t.Reason == want, string(t.Reason)
	})
}

// attempts are the consecutive failures of an endpoint on a table, as a master tells them.
func attempts(t *testing.T, m *running, name core.Target) int {
	t.Helper()
	all, err := m.api.Failures(t.Context())
	must(t, err)
	n := 0
	for _, f := range all {
		if f.Target == name {
			n = max(n, f.Attempts)
		}
	}
	return n
}

// One worker with one slot: the second table waits for it without being owned, and says so.
func TestSlotWaiting(t *testing.T) {
	t.Parallel()
	both := []string{"--owned", "db/events,db/logs", "--slots", "1"}
	f := &fleetOf{t: t, etcd: etcdtest.Start(t, 1), lake: newLake(t, "db/events", "db/logs")}
	w := f.worker("w1", both...)
	m := f.master("--owned", "db/events,db/logs")
	thaw := freeze(w)
	f.ask(m)
	w.waitLog("runs")
	await(t, 40*time.Second, func() (bool, string) {
		_, err := m.api.Merge(t.Context(), "db/logs", false)
		return err == nil, "ask for db/logs"
	})
	f.reason(m, "db/logs", core.ReasonNoSlot)
	if logs := f.target(m, "db/logs"); logs.Running != nil {
		t.Errorf("db/logs is owned by execution %d while there is no slot for it", logs.Running.Number)
	}
	thaw()
	f.waitMerged(m)
	await(t, 60*time.Second, func() (bool, string) {
		logs := f.target(m, "db/logs")
		return logs.Pending.Generations == 0 && logs.Running == nil, m.logged()
	})
	wantMerged(t, f.lake, "db/logs")
}

// An engine that completes nothing is cancelled, killed and charged, however alive it is; the next one merges.
func TestNoProgressCancellation(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--no-progress", "6s", "--cancel-grace", "2s")
	w := f.worker("w1")
	m := f.master()
	defer freeze(w)()
	f.ask(m)
	w.waitLog("runs")
	w.waitLog(string(core.CodeNoProgress))
	f.waitMerged(m)
	if n := attempts(t, m, "db/events"); n != 0 {
		t.Errorf("%d failures stand after a success", n)
	}
}

// The connections between the master and the worker are cut while it starts and runs. Nothing runs twice, and nothing
// is lost: the records say what is going on.
func TestHTTPDisconnects(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--queue-limit", "20s")
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, "worker", "127.0.0.1:0", "127.0.0.1:1")
	must(t, p.Start())
	t.Cleanup(p.Stop)
	w := f.worker("w1", "--advertise", "http://"+p.Listen)
	u, err := url.Parse(w.api.URL)
	must(t, err)
	p.Upstream = u.Host
	m := f.master()
	cutting, done := context.WithCancel(t.Context())
	defer done()
	var cutter sync.WaitGroup
	cutter.Go(func() { // each connection lives for a moment
		for every := time.NewTicker(150 * time.Millisecond); cutting.Err() == nil; <-every.C {
			p.Stop()
			if p.Start() != nil {
				return
			}
		}
	})
	f.ask(m)
	w.waitLog("runs")
	done()
	cutter.Wait()
	f.waitMerged(m)
	history, err := m.api.Executions(t.Context(), "db/events", 0)
	must(t, err)
	if last := history[len(history)-1]; !last.Merged {
		t.Errorf("execution %d ended with %+v", last.Execution.Number, last.Failure)
	}
}

// A worker dies with a commit admitted, its engine lives on. Another worker merges, and nothing of the orphan lands.
func TestOrphanFencing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	m, w1 := f.master(), f.worker("w1")
	f.ask(m)
	w1.waitLog("runs")
	orphans := w1.engines()
	w1.kill()
	w2 := f.worker("w2")
	f.waitMerged(m)
	for _, fd := range orphans { // whatever they still try has no door any more
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	history, err := m.api.Executions(t.Context(), "db/events", 0)
	must(t, err)
	first, last := history[0], history[len(history)-1]
	if first.Execution.Endpoint != "w1" || first.Execution.Phase != core.Recovered || !last.Merged {
		t.Errorf("expected w1 to be recovered, and a merge after that: %+v, %+v\n%s", first, last, w2.logged())
	}
}

// A draining table starts nothing new, but what is broken is recovered, tried again at the barrier's intervals for as
// long as the lake can't be seen.
func TestDrainRecoveryProbes(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	m, w := f.master(), f.worker("w1")
	f.ask(m)
	w.waitLog("admitted for execution")
	table, aside := filepath.Join(f.lake, "db/events.lance"), filepath.Join(f.lake, "aside")
	must(t, os.Rename(table, aside))
	w.kill()
	_, err := m.api.SetMode(t.Context(), "db/events", core.Draining)
	must(t, err)
	m.waitLog("keeps the table, tried again in 30s")
	must(t, os.Rename(aside, table))
	f.worker("w2")
	await(t, 50*time.Second, func() (bool, string) {
		now := f.target(m, "db/events")
		return now.Running == nil, m.logged()
	})
	left := f.target(m, "db/events")
	if left.Pending.Generations > 0 { // its commit may have landed before its worker died
		f.reason(m, "db/events", core.ReasonDraining)
	}
	if left.Mode != core.Draining || left.Running != nil {
		t.Errorf("the table is %s, with %+v", left.Mode, left.Running)
	}
}

// A budget outlives everybody: reads, demand, restarts of the master and of the worker. Only a success clears it.
func TestRetainedRetryBudgets(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	m, w := f.master(), f.worker("w1")
	killing, spare := context.WithCancel(t.Context())
	defer spare()
	var killer sync.WaitGroup
	killer.Go(func() { // no engine gets anywhere
		for every := time.NewTicker(20 * time.Millisecond); killing.Err() == nil; <-every.C {
			for _, fd := range w.engines() {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
		}
	})
	f.ask(m)
	await(t, 60*time.Second, func() (bool, string) { return attempts(t, m, "db/events") >= 3, m.logged() })
	m.signal(unix.SIGKILL)
	w.signal(unix.SIGKILL)
	<-m.ended
	<-w.ended
	spare()
	killer.Wait()
	m = f.master()
	await(t, 40*time.Second, func() (bool, string) {
		_, err := m.api.Failures(t.Context())
		return err == nil, "a master that has seen the KV"
	})
	before := attempts(t, m, "db/events")
	f.ask(m)
	for range 3 {
		_, err := m.api.Targets(t.Context())
		must(t, err)
	}
	if after := attempts(t, m, "db/events"); before < 3 || after != before {
		t.Errorf("the budget goes from %d to %d attempts by reads and demand", before, after)
	}
	f.worker("w1")
	_, err := m.api.Merge(t.Context(), "db/events", true) // a person does not wait for the backoff
	must(t, err)
	f.waitMerged(m)
	if n := attempts(t, m, "db/events"); n != 0 {
		t.Errorf("%d failures stand after a success", n)
	}
}

// Of two live processes with one endpoint name the second one runs nothing, and says why.
func TestTwoLiveWorkersWithOneName(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	m, first := f.master(), f.worker("w1")
	await(t, 40*time.Second, func() (bool, string) {
		status, text := ask(t, "GET", first.api.URL+"/readyz", "", "")
		return status == 200, text
	})
	second := f.worker("w1")
	f.ask(m)
	f.waitMerged(m)
	status, text := ask(t, "GET", second.api.URL+"/readyz", "", "")
	if status != 503 || !strings.Contains(text, "w1") {
		t.Errorf("the second worker is ready: %d %s", status, text)
	}
	if strings.Contains(second.logged(), "runs:") {
		t.Errorf("the second worker has run something: %s", second.logged())
	}
	first.signal(unix.SIGTERM)
	first.wantEnd(0, 40*time.Second)
	await(t, 40*time.Second, func() (bool, string) { // its name is free now
		status, text := ask(t, "GET", second.api.URL+"/readyz", "", "")
		return status == 200, text
	})
}
