package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
	"github.com/sluice-data/sluice/core"
)

// A worker is killed with a commit on its way, and its table is drained before anybody has recovered it. The
// master can't look at the table, keeps it, and looks again 30 s later, the first of the barrier's intervals,
// and not before; then the execution is recovered, though the table is draining, and nothing new starts on it.
func TestDrainRecoveryProbes(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	upload(t, server, "lake/db/events.lance", events)
	slow := newHoldingWire(t, server.URL, 1, func(path string) bool { return strings.Contains(path, "/events.lance/_versions/") })
	away := newTrouble(t, server.URL, "lake/db/events.lance/")
	f := &fleetOf{t: t, etcd: etcdtest.Start(t, 1), lake: "s3://" + s3test.Bucket + "/lake", env: server.Env(), args: []string{"--etcd-lease", "1s", "--probe", "300ms"}}
	kv := f.store()
	atMaster, atWorker := *f, *f
	atMaster.env = append(server.Env(), "AWS_ENDPOINT_URL_S3="+away.URL)
	atWorker.env = append(server.Env(), "AWS_ENDPOINT_URL_S3="+slow.URL)
	m := atMaster.master("--poll", "1h")
	w1 := atWorker.worker("w1")
	f.ask(m)
	put := slow.wait(t)
	away.begin()
	w1.kill()
	sluice(t, "drain", "--http", m.api.URL, "db/events").want(t, 0, "db/events: draining; execution 1 (running on w1) goes on")
	m.waitLog("keeps the table, tried again in 30s")
	failed := time.Now()
	away.end()
	f.worker("w2")
	throughout(t, 20*time.Second, func() {
		tv := records(t, kv).Target("db/events")
		if !tv.Owner.Present() || tv.Execution.Value.Phase != core.Recovering {
			t.Fatalf("expected the table to be kept until the next look, found %+v", tv.Execution.Value)
		}
	})
	h := over(t, m, "db/events", 1)
	if after := time.Since(failed); after < 29*time.Second || after > 45*time.Second {
		t.Errorf("expected the next look 30 s after the first, it came after %v", after)
	}
	if h.Merged || h.Execution.Phase != core.Recovered || h.Failure.Code != core.CodeWorkerGone {
		t.Errorf("expected the execution to be recovered, got %+v", h)
	}
	sluice(t, "drain", "--http", m.api.URL, "db/events", "--wait").want(t, 0, "db/events: draining, as before; nothing runs on it")
	put.release()
	if status := put.answer(t); status != 412 {
		t.Errorf("expected storage to refuse the late put with 412, it said %d", status)
	}
	await(t, 10*time.Second, func() (bool, string) {
		target, err := m.api.Target(t.Context(), "db/events")
		if err != nil {
			return false, err.Error()
		}
		return target.Pending.Generations == 5 && target.Reason == core.ReasonDraining, "everything is pending, because the table drains; the reason is " + string(target.Reason)
	})
	if _, err := m.api.Merge(t.Context(), "db/events", true); err == nil {
		t.Error("a draining table takes a merge")
	}
}
