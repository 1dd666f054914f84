package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// rig is the API over a real KV and a lake of checked-in manifests; the machines are made up.
type rig struct {
	*testing.T
	kv     kv.KV
	lake   *lake.Local
	master *master
	worker *worker
	server *httptest.Server
}

type master struct {
	answer core.AnswerMerge
	says   core.AnswerOperator
	why    core.Reason
	asked  []core.Target
	wish   any // what an operator asked for last
}

func (m *master) Merge(_ context.Context, t core.Target, _ bool) (core.AnswerMerge, error) {
	m.asked = append(m.asked, t)
	return m.answer, nil
}
func (m *master) Adopt(ctx context.Context, t core.Target, _ bool) (core.AnswerMerge, error) {
	return m.Merge(ctx, t, false)
}
func (m *master) Mode(_ context.Context, t core.Target, mode core.Mode) (core.AnswerOperator, error) {
	m.asked, m.wish = append(m.asked, t), mode
	return m.says, nil
}
func (m *master) Policy(_ context.Context, t core.Target, p core.Policy) (core.AnswerOperator, error) {
	m.asked, m.wish = append(m.asked, t), p
	return m.says, nil
}
func (m *master) Forget(_ context.Context, t core.Target, e core.Endpoint) (core.AnswerOperator, error) {
	m.asked, m.wish = append(m.asked, t), e
	return m.says, nil
}
func (m *master) Why(core.Target) core.Reason { return m.why }

type worker struct{ status core.Status }

func (w *worker) Status(context.Context, core.Target, core.ExecutionID) (core.Status, error) {
	return w.status, nil
}

const events core.Target = "db/events"

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{T: t, master: &master{}, worker: &worker{}}
	for name, from := range map[string]string{"db/events": "mem_wal", "plain": "storage_2_1"} {
		to := filepath.Join(dir, filepath.FromSlash(name)+".lance")
		r.must(os.CopyFS(to, os.DirFS(filepath.Join("..", "..", "testdata", "lance", from+".lance"))))
	}
	var err error
	r.lake, err = lake.OpenLocal(dir)
	r.must(err)
	t.Cleanup(func() { r.must(r.lake.Close()) })
	r.kv, err = bolt.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	r.must(err)
	t.Cleanup(func() { r.must(r.kv.Close()) })
	r.server = httptest.NewServer(rest.Protected(rest.NewHandler(rest.Config{
		KV: r.kv, Lake: r.lake, Master: r.master, Worker: r.worker, Version: "v1.2.3",
		Identity: r.identity, Drain: func(_ context.Context, w core.WorkerRecord) (core.Load, error) {
			return core.Load{Endpoint: w.Endpoint, Active: 1}, nil
		},
	})))
	t.Cleanup(r.server.Close)
	return r
}

func (r *rig) identity() (core.KVRecord, error) {
	return core.KVRecord{ID: "the-kv", Format: core.Format, Lake: r.lake.URI()}, nil
}

func (r *rig) client() rest.Client { return rest.Client{URL: r.server.URL} }

func (r *rig) put(key string, record any) {
	r.Helper()
	_, err := r.kv.Commit(r.Context(), core.Txn{Name: "test", Then: []core.Op{core.Put(key, core.Encode(record))}})
	r.must(err)
}

// get asks and returns the status and the body.
func (r *rig) get(path string) (int, string) {
	r.Helper()
	return r.do(http.MethodGet, path, nil)
}

func (r *rig) do(method, path string, prepare func(*http.Request)) (int, string) {
	r.Helper()
	q, err := http.NewRequestWithContext(r.Context(), method, r.server.URL+path, nil)
	r.must(err)
	if prepare != nil {
		prepare(q)
	}
	a, err := http.DefaultClient.Do(q)
	r.must(err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	r.must(err)
	if a.StatusCode >= 400 && !strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json") {
		r.Errorf("%s answers %d as %s, expected a problem", path, a.StatusCode, a.Header.Get("Content-Type"))
	}
	return a.StatusCode, string(text)
}

// want asks for a body and refuses fields that the type doesn't have.
func want[B any](r *rig, path string) (out B) {
	r.Helper()
	status, text := r.get(path)
	if status != http.StatusOK {
		r.Fatalf("%s answers %d: %s", path, status, text)
	}
	d := json.NewDecoder(bytes.NewBufferString(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		r.Fatalf("%s answers %s: %v", path, text, err)
	}
	return out
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}
