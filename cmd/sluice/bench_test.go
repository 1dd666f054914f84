package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// These benchmarks are run by hand, with those of adapters/fleet, by `make bench-fleet`; docs/operations.md has
// what was seen.

// BenchmarkFleetTakeover shows how long it takes from the death of a worker in mid-merge to the next execution
// that runs, with the limits that everybody has.
func BenchmarkFleetTakeover(b *testing.B) {
	const deaths = 3
	f := newFleet(b, "--poll", "1h")
	kv := f.store()
	m := f.master()
	var longest, sum, fencing time.Duration
	for i := range deaths {
		target := core.Target(fmt.Sprintf("db/t%d", i))
		copyTable(b, events, f.lake, string(target))
		_, err := m.api.SetMode(b.Context(), target, core.Owned)
		must(b, err)
		w := f.worker(fmt.Sprintf("a%d", i))
		await(b, 40*time.Second, func() (bool, string) {
			_, err := m.api.Merge(b.Context(), target, false)
			return err == nil, fmt.Sprint(err)
		})
		w.waitLog("admitted") // so that there is something to be fenced
		w.kill()
		died := time.Now()
		next := f.worker(fmt.Sprintf("b%d", i))
		next.waitLog(" runs: ")
		took := time.Since(died)
		f.waitReleased(m, target)
		next.signal(unix.SIGTERM)
		next.wantEnd(0, 40*time.Second)
		longest, sum = max(longest, took), sum+took
		list, err := kv.Read(b.Context(), core.TakeoverRange(target))
		must(b, err)
		for _, r := range list.Records {
			t, err := core.Decode[core.Takeover](r.Key, r.Value)
			must(b, err)
			fencing = max(fencing, time.Duration(t.Barrier)*time.Millisecond)
		}
	}
	b.ReportMetric((sum / deaths).Seconds(), "mean-s")
	b.ReportMetric(longest.Seconds(), "max-s")
	b.ReportMetric(fencing.Seconds()*1000, "max-fencing-ms")
	b.ReportMetric(0, "ns/op")
}

// waitReleased waits until nothing of a table is pending and nobody owns it.
func (f *fleetOf) waitReleased(m *running, target core.Target) {
	f.t.Helper()
	await(f.t, 60*time.Second, func() (bool, string) {
		now, err := m.api.Target(f.t.Context(), target)
		return err == nil && now.Pending.Generations == 0 && now.Running == nil, fmt.Sprint(err)
	})
}

// BenchmarkFleetMemory shows the memory of a master with 10,000 owned tables, each with ten past executions.
func BenchmarkFleetMemory(b *testing.B) {
	const tables, past = 10_000, 10
	f := &fleetOf{t: b, etcd: etcdtest.Start(b, 1), lake: filepath.Join(b.TempDir(), "lake")}
	must(b, os.Mkdir(f.lake, 0o755))
	kv := f.store()
	origin := filepath.Join(b.TempDir(), "origin.lance")
	must(b, clients.CreateLSM(b.Context(), stock.Table{URI: origin}, stock.Rows{To: 100}, filepath.Join(filepath.Dir(origin), "record")))
	for i := range tables {
		t := core.Target(fmt.Sprintf("t/%05d", i))
		linkTree(b, origin, filepath.Join(f.lake, t.Path()))
		owned := core.Policy{Mode: core.Owned}
		ops := []core.Op{core.Put(core.PolicyKey(t), core.Encode(owned)), core.Put(core.ModeKey(t), core.Encode(core.Latch{Mode: core.Owned, By: "x"}))}
		for n := range uint64(past) {
			h := core.History{Merged: true, Execution: core.Execution{
				ID: core.ExecutionID(fmt.Sprintf("%026d", n)), Number: n, Target: t, Kind: core.KindMerge, Phase: core.Finished, Endpoint: "worker-0",
				Charge: "~unowned", Shards: []core.ShardID{"aa48498d-ac91-59e2-8452-69f46010ace2"}, Path: t.Path(), Nonce: fmt.Sprintf("%026d", n),
				Plan: []core.ShardPlan{{Shard: "aa48498d-ac91-59e2-8452-69f46010ace2", First: 1, Last: 5}}, Instance: "INSTANCE000000000000000000",
			}}
			ops = append(ops, core.Put(core.HistoryKey(t, n), core.Encode(h)))
		}
		a, err := kv.Commit(b.Context(), core.Txn{Name: "prepare", Then: ops})
		must(b, err)
		if a.Outcome != core.Applied {
			b.Fatalf("prepare %s: %v", t, a.Outcome)
		}
	}
	began := time.Now()
	m := f.start("master", "--id", "m1")
	await(b, 3*time.Minute, func() (bool, string) {
		status, text := ask(b, "GET", m.api.URL+"/readyz", "", "")
		// It is not ready without a worker; that it says so means that its KV answers.
		return status == 503 && strings.Contains(text, "no worker") && len(records(b, kv).Masters) == 1, text + m.logged()
	})
	registered := time.Since(began)
	<-time.After(100 * time.Second) // two sweeps of all tables
	b.ReportMetric(registered.Seconds(), "s-to-register")
	b.ReportMetric(memory(b, m, "VmRSS"), "MB")
	b.ReportMetric(memory(b, m, "VmHWM"), "peak-MB")
	b.ReportMetric(0, "ns/op")
}

// memory is a figure of /proc in MB.
func memory(t testing.TB, p *running, what string) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	must(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, what+":"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			must(t, err)
			return float64(kb) / 1024
		}
	}
	t.Fatalf("no %s in %s", what, status)
	return 0
}

func linkTree(t testing.TB, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		part, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, part), 0o755)
		}
		return os.Link(name, filepath.Join(to, part))
	}))
}
