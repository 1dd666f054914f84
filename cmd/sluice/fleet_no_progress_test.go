package main_test

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// A merge is alive, its worker answers, its registration stands: but storage doesn't answer a put of its data,
// so nothing is completed. It is cancelled after the limit, charged once as E_NO_PROGRESS, and tried again two
// seconds later; the put that comes after its end harms nobody.
func TestNoProgressCancellation(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	upload(t, server, "lake/db/events.lance", events)
	slow := newHoldingWire(t, server.URL, 1, func(path string) bool { return strings.Contains(path, "/events.lance/data/") })
	f := &fleetOf{t: t, etcd: etcdtest.Start(t, 1), lake: "s3://" + s3test.Bucket + "/lake", env: server.Env()}
	kv := f.store()
	limits := []string{"--no-progress", "5s", "--cancel-grace", "2s", "--probe", "300ms"}
	m := f.master(append(limits, "--poll", "1h")...)
	below := *f
	below.env = append(server.Env(), "AWS_ENDPOINT_URL_S3="+slow.URL)
	w := below.worker("w1", limits...)
	f.ask(m)
	put := slow.wait(t)
	running := records(t, kv).Target("db/events").Execution.Value
	if status, err := w.status(running); err != nil || !status.Known {
		t.Errorf("expected the worker to know its execution while storage is slow: %+v, %v", status, err)
	}
	h := over(t, m, "db/events", 1)
	if h.Merged || h.Failure.Code != core.CodeNoProgress {
		t.Fatalf("expected E_NO_PROGRESS, got %+v", h)
	}
	if ran := h.Released - h.Execution.Started; ran < 5000 || ran > 20_000 {
		t.Errorf("expected it to be ended 5 s after its last progress, it ran %d ms", ran)
	}
	budget := records(t, kv).Target("db/events").Failures
	if len(budget) != 1 || budget[0].Value.Attempts != 1 || budget[0].Value.Delay != 2000 {
		t.Errorf("expected one attempt and a wait of 2 s, found %+v", budget)
	}
	put.release()
	again := over(t, m, "db/events", 2)
	if !again.Merged || again.Execution.Reserved-h.Released < 1900 {
		t.Errorf("expected a second try after 2 s that merges: %d ms, %+v", again.Execution.Reserved-h.Released, again)
	}
	wantUncharged(t, records(t, kv), "db/events")
	wantMergedOnS3(t, server, "lake/db/events.lance")
}

// status is what a worker knows of an execution.
func (d *running) status(e core.Execution) (core.Status, error) {
	return rest.Workers{}.Status(d.t.Context(), d.api.URL, e.Target, e.ID)
}
