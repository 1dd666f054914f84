package main_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/sluice-data/sluice/adapters/doctor"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// findings is what `sluice doctor --json` prints.
type findings struct {
	Findings []doctor.Finding
	Failed   int
}

func (f findings) of(check string) doctor.Finding {
	for _, one := range f.Findings {
		if one.Check == check {
			return one
		}
	}
	return doctor.Finding{}
}

func TestTheDoctorSaysOneLineACheckAndChangesNothing(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	before := fingerprint(t, lake)
	c := etcdtest.Start(t, 1)
	o := sluice(t, "doctor", "--lake", lake, "--kv", "etcd:"+strings.Join(c.Endpoints(), ","))
	o.want(t, 0, "ok       put-if-absent", "ok       kv-of-lake", "ok       python", "ok       gate")
	for line := range strings.Lines(o.stdout) {
		if !strings.HasPrefix(line, "ok ") && !strings.HasPrefix(line, "warning ") {
			t.Errorf("a line is %q", line)
		}
	}
	o = sluice(t, "doctor", "--json", "--lake", lake)
	o.want(t, 0)
	if f := decode[findings](t, o.stdout); f.Failed != 0 || f.of("kv").Verdict != doctor.OK || f.of("engine").Verdict != doctor.OK {
		t.Errorf("the findings are %+v", f)
	}
	if after := fingerprint(t, lake); after != before {
		t.Error("the doctor has changed the lake")
	}
}

func TestTheDoctorEndsWithOneIfAnythingFailed(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.worker("w1")
	fake := filepath.Join(t.TempDir(), "python")
	must(t, os.WriteFile(fake, []byte("#!/bin/sh\necho 3.12 1 none\n"), 0o755))
	for name, c := range map[string]struct {
		args  []string
		code  int
		words []string
	}{
		"a port in use":            {[]string{"--lake", f.lake, "--http", strings.TrimPrefix(w.api.URL, "http://")}, 1, []string{"FAILED   http", "in use", "checks failed", "name it by --kv"}},
		"an etcd that isn't there": {[]string{"--lake", f.lake, "--kv", "etcd:127.0.0.1:1"}, 1, []string{"FAILED   etcd", "start etcd"}},
		"a Python without pylance": {[]string{"--lake", f.lake, "--python", fake}, 1, []string{"FAILED   python", "has no pylance"}},
		"a lake that isn't there":  {[]string{"--lake", f.lake + "/none"}, 1, []string{"FAILED   lake", "does not exist"}},
		"no lake":                  {nil, 2, []string{"--lake is missing"}},
		"no slots":                 {[]string{"--lake", f.lake, "--slots", "0"}, 2, []string{"--slots is 0"}},
		"no state file":            {[]string{"--lake", f.lake, "--kv", "bolt:"}, 2, []string{"names no file"}},
		"a KV of another kind":     {[]string{"--lake", f.lake, "--kv", "zookeeper:x"}, 2, []string{"a fleet needs etcd"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sluice(t, append([]string{"doctor"}, c.args...)...).want(t, c.code, c.words...)
		})
	}
}

// overwriting stands before an S3 server and drops the condition of each PUT, as stores do that don't know it.
func overwriting(t *testing.T, server *s3test.Server) *s3test.Server {
	t.Helper()
	to, err := url.Parse(server.URL)
	must(t, err)
	account := aws.Credentials{AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Del("If-None-Match")
		r.Out.Header.Del("Authorization")
		sum := r.Out.Header.Get("X-Amz-Content-Sha256")
		if err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
			SignHTTP(r.Out.Context(), account, r.Out, sum, "s3", s3test.Region, time.Now()); err != nil {
			t.Errorf("sign again: %v", err)
		}
	}})
	t.Cleanup(proxy.Close)
	return &s3test.Server{URL: proxy.URL}
}

// A store that knows no If-None-Match: nobody merges on it, and programs go on writing through the gate.
func TestNobodyMergesOnALakeThatOverwrites(t *testing.T) {
	t.Parallel()
	server := overwriting(t, s3test.Start(t))
	f := &fleetOf{t: t, etcd: etcdtest.Start(t, 1), lake: "s3://" + s3test.Bucket + "/a lake", env: server.Env()}
	upload(t, server, "a lake/db/events.lance", events)

	o := sluiceWith(t, f.env, "doctor", "--json", "--lake", f.lake)
	if o.code != 1 {
		t.Errorf("expected exit code 1, got %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if found := decode[findings](t, o.stdout).of("put-if-absent"); found.Verdict != doctor.Failed || !strings.Contains(found.Hint, "If-None-Match") {
		t.Errorf("the doctor finds %+v", found)
	}

	m, w := f.master(), f.worker("w1")
	w.waitLog("this worker runs none")
	f.ask(m)
	await(t, 40*time.Second, func() (bool, string) {
		target, err := m.api.Target(t.Context(), "db/events")
		return err == nil && target.Reason == core.ReasonLakeUnsafe, string(target.Reason)
	})
	table := stock.Table{
		URI: "s3://lake/db/events.lance",
		StorageOptions: decode[struct {
			Options map[string]string `json:"storage_options"`
		}](t, w.report).Options,
	}
	history := filepath.Join(t.TempDir(), "record")
	body, err := os.ReadFile(record)
	must(t, err)
	must(t, os.WriteFile(history, body, 0o600))
	_, err = clients.WriteGenerations(t.Context(), table, 1, 10, history)
	must(t, err)
	target, err := m.api.Target(t.Context(), "db/events")
	must(t, err)
	if target.Pending.Generations != 6 || target.Running != nil || target.Reason != core.ReasonLakeUnsafe {
		t.Errorf("the table stands at %+v", target)
	}
	status, text := ask(t, http.MethodPost, w.api.URL+"/api/v1/internal/merge-executor/start", "", core.Encode(core.Execution{ID: "e1", Target: "db/events", Kind: core.KindMerge, Phase: core.Reserved, Endpoint: "w1"}))
	if status != http.StatusOK || !strings.Contains(text, string(core.ReasonLakeUnsafe)) {
		t.Errorf("a start is answered %d %s", status, text)
	}
}
