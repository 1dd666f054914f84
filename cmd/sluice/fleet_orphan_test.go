package main_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/engine/enginetest"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// A worker is killed while its commit is on its way to storage, and its engine lives on. Another worker takes
// over, and answers at the gate address of the dead one. The put on its way meets a fence, and what the orphan
// sends later meets a gate that doesn't know its credential: nothing of it lands.
func TestOrphanFencing(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	upload(t, server, "lake/db/events.lance", events)
	slow := newHoldingWire(t, server.URL, 1, func(path string) bool { return strings.Contains(path, "/events.lance/_versions/") })
	f := &fleetOf{t: t, etcd: etcdtest.Start(t, 1), lake: "s3://" + s3test.Bucket + "/lake", env: server.Env(), args: []string{"--etcd-lease", "1s", "--probe", "300ms"}}
	kv := f.store()
	m := f.master("--poll", "1h")
	survivor := enginetest.NewSurvivor(t, python)
	below := *f
	below.env = append(server.Env(), "AWS_ENDPOINT_URL_S3="+slow.URL)
	w1 := below.worker("w1", "--python", survivor.Python)
	f.ask(m)
	put := slow.wait(t)
	orphan := survivor.First(t)
	must(t, unix.Kill(orphan, unix.SIGSTOP))
	w1.kill()
	w2 := f.worker("w2")
	late := &lateComer{}
	late.wire = wire{meet: late.meet, answered: late.answered}
	late.to(t, "http://"+w2.gate())
	late.listen(t, w1.gate())

	h := over(t, m, "db/events", 1)
	if h.Merged || h.Failure.Code != core.CodeWorkerGone || h.Execution.Phase != core.Recovered {
		t.Fatalf("expected the orphan's execution to be recovered, got %+v", h)
	}
	if fences := h.Execution.Fenced; len(fences) != 1 || fences[0].Fences() != 1 {
		t.Errorf("expected one fence in the place of the late put, found %+v", fences)
	}
	if again := over(t, m, "db/events", 2); !again.Merged || again.Execution.Endpoint != "w2" {
		t.Fatalf("expected w2 to merge, got %+v", again)
	}
	f.waitMerged(m)
	head := f.base(m)
	put.release()
	if status := put.answer(t); status != http.StatusPreconditionFailed {
		t.Errorf("expected storage to refuse the late put with 412, it said %d", status)
	}
	must(t, unix.Kill(orphan, unix.SIGCONT))
	await(t, 40*time.Second, func() (bool, string) { return enginetest.Gone(orphan), "the orphan goes on" })
	late.wantRefused(t)
	if now := f.base(m); now != head {
		t.Errorf("expected the orphan to commit nothing, the base went from v%d to v%d", head, now)
	}
	wantMergedOnS3(t, server, "lake/db/events.lance")
	if owner := records(t, kv).Target("db/events").Owner; owner.Present() {
		t.Errorf("the table is still owned: %+v", owner)
	}
}

// gate is the address of a worker's gate.
func (d *running) gate() string {
	d.t.Helper()
	said := decode[struct{ Gate string }](d.t, d.report)
	u, err := url.Parse(said.Gate)
	must(d.t, err)
	return u.Host
}

// base is the newest version of the table's base.
func (f *fleetOf) base(m *running) core.Version {
	f.t.Helper()
	var target rest.Target
	await(f.t, 10*time.Second, func() (ok bool, why string) {
		var err error
		if target, err = m.api.Target(f.t.Context(), "db/events"); err != nil {
			why = err.Error()
		}
		return err == nil, why
	})
	return target.Base
}

// lateComer is the way from an orphan to a gate that answers where its own one was.
type lateComer struct {
	wire
	mu       sync.Mutex
	statuses []int
}

func (l *lateComer) meet(*http.Request) fate { return pass }

func (l *lateComer) answered(_ *http.Request, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses = append(l.statuses, status)
}

// wantRefused demands that the orphan tried, and that every try was forbidden.
func (l *lateComer) wantRefused(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.statuses) == 0 || slices.ContainsFunc(l.statuses, func(s int) bool { return s != http.StatusForbidden }) {
		t.Errorf("expected the orphan to be answered 403 and nothing else, it was answered %v", l.statuses)
	}
}
