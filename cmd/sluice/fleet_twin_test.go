package main_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Two live workers have one name. The second is in good health and not ready, and says why in its log and to
// whoever asks; it refuses to start what is reserved for that name, and the first merges. When the first has
// died the second takes the name.
func TestTheSecondOfTwoWorkersWithOneNameRunsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--etcd-lease", "1s", "--probe", "300ms")
	kv := f.store()
	first := f.worker("w1")
	until(t, kv, "the first is registered", func(v *core.View) bool { return len(v.Workers) == 1 })
	second := f.worker("w1")
	second.waitLog("another process is registered as worker w1, at " + first.api.URL)
	if status, text := ask(t, http.MethodGet, second.api.URL+"/healthz", "", ""); status != http.StatusOK {
		t.Errorf("the health of the second is %d %s", status, text)
	}
	status, text := ask(t, http.MethodGet, second.api.URL+"/readyz", "", "")
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "give each worker a name of its own") {
		t.Errorf("the second is ready: %d %s", status, text)
	}
	for _, p := range []*running{first, f.master()} {
		await(t, 20*time.Second, func() (bool, string) {
			status, text := ask(t, http.MethodGet, p.api.URL+"/readyz", "", "")
			return status == http.StatusOK, text
		})
	}
	reserved := core.Encode(core.Execution{ID: "e1", Target: "db/events", Endpoint: "w1", Phase: core.Reserved, Kind: core.KindMerge})
	status, text = ask(t, http.MethodPost, second.api.URL+"/api/v1/internal/merge-executor/start", "", reserved)
	if status != http.StatusServiceUnavailable || !strings.Contains(text, first.api.URL) {
		t.Errorf("the second starts owned work: %d %s", status, text)
	}
	if strings.Contains(first.logged(), "another process") {
		t.Errorf("the first minds the second: %s", first.logged())
	}
	first.kill()
	await(t, 20*time.Second, func() (bool, string) {
		status, text := ask(t, http.MethodGet, second.api.URL+"/readyz", "", "")
		return status == http.StatusOK, text
	})
}
