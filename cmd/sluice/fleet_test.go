package main_test

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// fleetOf is an etcd with a lake, for processes to be started on.
type fleetOf struct {
	t    testing.TB
	etcd *etcdtest.Cluster
	lake string
	env  []string
	args []string // what every process is given
}

func newFleet(t testing.TB, args ...string) *fleetOf {
	t.Helper()
	return &fleetOf{t: t, etcd: etcdtest.Start(t, 1), lake: newLake(t, "db/events"), args: args}
}

func (f *fleetOf) start(kind string, args ...string) *running {
	f.t.Helper()
	all := append([]string{kind, "--json", "--lake", f.lake, "--kv", "etcd:" + strings.Join(f.etcd.Endpoints(), ",")}, f.args...)
	p := startProcess(f.t, f.env, append(all, args...)...)
	var said struct{ HTTP string }
	if err := json.Unmarshal([]byte(p.report), &said); err != nil {
		f.t.Fatalf("%s has not started: %s%s", kind, p.report, p.logged())
	}
	p.api = rest.Client{URL: said.HTTP}
	return p
}

func (f *fleetOf) master(args ...string) *running {
	f.t.Helper()
	return f.start("master", append([]string{"--id", "m1", "--owned", "db/events"}, args...)...)
}

func (f *fleetOf) worker(name string, args ...string) *running {
	f.t.Helper()
	return f.start("worker", append([]string{"--endpoint", name, "--owned", "db/events"}, args...)...)
}

// ask asks a master for a merge, rather than wait until the age of what is pending makes it worth one.
func (f *fleetOf) ask(m *running) {
	f.t.Helper()
	await(f.t, 40*time.Second, func() (bool, string) {
		_, err := m.api.Merge(f.t.Context(), "db/events", false)
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// waitMerged waits until nothing is pending, and compares the base with what its writers recorded.
func (f *fleetOf) waitMerged(m *running) {
	f.t.Helper()
	await(f.t, 60*time.Second, func() (bool, string) {
		target, err := m.api.Target(f.t.Context(), "db/events")
		if err != nil {
			return false, err.Error()
		}
		return target.Pending.Generations == 0 && target.Running == nil, m.logged()
	})
	if !strings.HasPrefix(f.lake, "s3:") {
		wantMerged(f.t, f.lake, "db/events")
	}
}

// await asks until the answer is yes.
func await(t testing.TB, limit time.Duration, yes func() (bool, string)) {
	t.Helper()
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for end := time.Now().Add(limit); ; <-every.C {
		ok, why := yes()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, why)
		}
	}
}

func TestAFleetMergesWhatItOwns(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	m, w1, w2 := f.master(), f.worker("w1"), f.worker("w2")
	f.ask(m)
	f.waitMerged(m)
	for _, p := range []*running{m, w1, w2} {
		p.signal(unix.SIGTERM)
		p.wantEnd(0, 40*time.Second)
	}
}

func TestAFleetTakesOverFromAWorkerThatDied(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	m, w1 := f.master(), f.worker("w1")
	f.ask(m)
	w1.waitLog("runs")
	w1.kill()
	f.worker("w2")
	f.waitMerged(m)
}

// The lake is a bucket; engines and clients reach it through the gate, fences and masters straight.
func TestAFleetMergesATableOnS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	f := &fleetOf{t: t, etcd: etcdtest.Start(t, 1), lake: "s3://" + s3test.Bucket + "/a lake", env: server.Env()}
	upload(t, server, "a lake/db/events.lance", events)
	m, w1 := f.master(), f.worker("w1")
	f.ask(m)
	w1.waitLog("runs")
	w1.kill()
	w2 := f.worker("w2")
	f.waitMerged(m)
	for _, p := range []*running{m, w2} {
		p.signal(unix.SIGTERM)
		p.wantEnd(0, 40*time.Second)
	}
	wantMergedOnS3(t, server, "a lake/db/events.lance")
}

// wantMergedOnS3 is wantMerged for a table in a bucket.
func wantMergedOnS3(t *testing.T, server *s3test.Server, path string) {
	t.Helper()
	table := stock.Table{URI: "s3://" + s3test.Bucket + "/" + path, StorageOptions: map[string]string{
		"aws_endpoint": server.URL, "aws_access_key_id": s3test.AccessKey, "aws_secret_access_key": s3test.SecretKey,
		"aws_region": s3test.Region, "allow_http": "true",
	}}
	c, err := clients.Compare(t.Context(), stock.File(record), stock.BaseOf(table))
	must(t, err)
	if !c.Equal {
		t.Errorf("the base is not what was written: %s", c)
	}
}

// upload copies a directory into a bucket.
func upload(t *testing.T, to *s3test.Server, prefix, dir string) {
	t.Helper()
	l, err := lake.OpenS3(t.Context(), "s3://"+s3test.Bucket+"/"+prefix, to.Options)
	must(t, err)
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		return l.Put(t.Context(), name, body)
	}))
}

func TestProcessesStartWithoutEtcdAndGoOnOnceItAnswers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.etcd.Stop(0)
	m, w := f.master(), f.worker("w1")
	if _, err := m.api.Health(t.Context()); err != nil {
		t.Errorf("a master without etcd is in good health: %v", err)
	}
	for _, p := range []*running{m, w} {
		status, text := ask(t, http.MethodGet, p.api.URL+"/readyz", "", "")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "KV") {
			t.Errorf("without etcd: %d %s", status, text)
		}
	}
	status, text := ask(t, http.MethodPost, w.api.URL+"/api/v1/internal/merge-executor/start", "", core.Encode(core.Execution{ID: "e1", Target: "db/events"}))
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "KV") {
		t.Errorf("a start without etcd: %d %s", status, text)
	}
	f.etcd.Restart(t, 0)
	f.ask(m)
	f.waitMerged(m)
}

func TestADrainedWorkerSaysWhenItIsEmpty(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(tokens, []byte("# of a test\nfleet 0123456789abcdef-fleet\noperator 0123456789abcdef-operator\nreader 0123456789abcdef-reader\n"), 0o600))
	f := newFleet(t, "--tokens", tokens)
	w := f.worker("w1")
	drain := w.api.URL + "/api/v1/executor/drain"
	for token, want := range map[string]int{"": 401, "0123456789abcdef-reader": 403, "0123456789abcdef-nobody": 401} {
		if status, text := ask(t, http.MethodPost, drain, token, ""); status != want {
			t.Errorf("drain with %q: %d %s, expected %d", token, status, text, want)
		}
	}
	if status, text := ask(t, http.MethodGet, w.api.URL+"/api/v1/internal/merge-executor", "0123456789abcdef-operator", ""); status != 403 {
		t.Errorf("an operator speaks for the fleet: %d %s", status, text)
	}
	await(t, 20*time.Second, func() (bool, string) {
		status, text := ask(t, http.MethodPost, drain, "0123456789abcdef-operator", "")
		return status == 200 && strings.Contains(text, `"accepting":false,"active":0`), text
	})
	// A fleet with a drained worker merges on another one.
	m := f.master()
	f.worker("w2")
	m.api.Caller = rest.NewCaller("0123456789abcdef-operator", nil)
	f.ask(m)
	m.api.Caller = rest.NewCaller("0123456789abcdef-reader", nil)
	f.waitMerged(m)
}

func ask(t testing.TB, method, url, token, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	must(t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := http.DefaultClient.Do(r)
	must(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	must(t, err)
	return a.StatusCode, string(text)
}
