package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/core"
)

func TestDevPrintsOptionsThatReachTheLakeFromPylanceAndLanceDB(t *testing.T) {
	t.Parallel()
	d := startDev(t, newLake(t, "db/events"))
	_, snippet, found := strings.Cut(d.report, "from Python:\n\n")
	snippet, _, _ = strings.Cut(snippet, "\ndb/events has")
	if !found {
		t.Fatalf("there is no Python in: %s", d.report)
	}
	snippet += "\nprint(dataset.count_rows(), table.count_rows(), dataset.uri)\n"
	said, err := exec.CommandContext(t.Context(), python, "-c", snippet).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "100 ") || !strings.Contains(string(said), "s3://lake/db/events.lance") {
		t.Errorf("expected 100 rows through the gate, got %v: %s\nof %s", err, said, snippet)
	}
	d.stop()
}

func TestDevNamesUnownedTablesWithTheCommandThatOwnsThem(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events", "db/other")
	d := startDev(t, lake, "--json", "--owned", "db/events")
	got := decode[struct {
		Lake           string
		HTTP, Gate     string
		StorageOptions map[string]string `json:"storage_options"`
		Owned          []core.Target
		Unowned        []struct {
			Target      core.Target
			Generations int
			Command     string
		}
	}](t, d.report)
	if len(got.Unowned) != 1 || got.Unowned[0].Target != "db/other" || got.Unowned[0].Generations != 5 ||
		!strings.HasSuffix(got.Unowned[0].Command, "--owned db/events,db/other") {
		t.Errorf("expected db/other and its command, got %+v", got.Unowned)
	}
	if got.StorageOptions["aws_endpoint"] != got.Gate || got.HTTP != d.api.URL || len(got.Owned) != 1 {
		t.Errorf("got %+v", got)
	}
	d.waitLog("release execution 1: merged")
	d.stop()
	wantMerged(t, lake, "db/events")
	wantUnmerged(t, lake, "db/other")
}

func TestDevTakesItsTablesFromTheEnvironmentWhereNoFlagDoes(t *testing.T) {
	t.Parallel()
	lake := newLake(t)
	o := sluiceWith(t, []string{"MERGE_OWNED_TARGETS=db/a,../b"}, "dev", "--lake", lake)
	o.want(t, 2, "MERGE_OWNED_TARGETS", `".."`)
	o = sluiceWith(t, []string{"MERGE_DRAIN_TARGETS=a//b"}, "dev", "--lake", lake, "--owned", "x")
	o.want(t, 2, "MERGE_DRAIN_TARGETS", "empty path segment")
}

func TestDevEndsCleanlyAndLosesNothing(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"on Ctrl-C": os.Interrupt, "on SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := newLake(t, "db/events")
			d := startDev(t, lake, "--owned", "db/events")
			d.waitLog("execution 1 runs")
			d.signal(signal)
			d.wantEnd(0, 40*time.Second)
			if !strings.Contains(d.logged(), "release execution 1: merged") {
				t.Errorf("expected the merge to come to its end: %s", d.logged())
			}
			if _, err := os.Stat(filepath.Join(lake, "_sluice/process.json")); !os.IsNotExist(err) {
				t.Errorf("process.json is still there: %v", err)
			}
			wantMerged(t, lake, "db/events")
			sluice(t, "merge", "--lake", lake, "db/events").want(t, 0, "nothing to do")
		})
	}
}

func TestASecondSignalEndsDevAtOnceAndTheNextProcessRecovers(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	d := startDev(t, lake, "--owned", "db/events")
	engines := d.engines()
	if len(engines) == 0 {
		t.Fatal("dev has no engine")
	}
	for _, e := range engines {
		must(t, unix.PidfdSendSignal(e, syscall.SIGSTOP, nil, 0)) // the merge will never end by itself
	}
	d.waitLog("execution 1 runs")
	d.signal(os.Interrupt)
	d.waitLog("stopping")
	d.signal(os.Interrupt)
	d.wantEnd(1, 3*time.Second)
	for _, e := range engines {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(e), Events: unix.POLLIN}}, 5000); n != 1 {
			t.Errorf("an engine lives on without its worker: %v", err)
		}
	}
	o := sluice(t, "merge", "--lake", lake, "--json", "db/events")
	o.want(t, 0, `"outcome": "merged"`)
	wantMerged(t, lake, "db/events")
}

func TestOnlyOneProcessServesALake(t *testing.T) {
	t.Parallel()
	lake := newLake(t)
	d := startDev(t, lake)
	o := sluice(t, "dev", "--lake", lake)
	o.want(t, 1, "is served by the process at "+d.api.URL, "stop it first")
	o.wantOneLine(t)
	d.stop()
}

func TestTheAPIOfDevRefusesOtherHosts(t *testing.T) {
	t.Parallel()
	d := startDev(t, newLake(t, "db/events"))
	h, err := d.api.Health(t.Context())
	must(t, err)
	if h.Version != stampedVersion {
		t.Errorf("expected the version %s, got %+v", stampedVersion, h)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.api.URL+"/api/v1/targets", nil)
	must(t, err)
	q.Host = "evil.example"
	a, err := http.DefaultClient.Do(q)
	must(t, err)
	a.Body.Close()
	if a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("expected 421, got %d", a.StatusCode)
	}
	d.stop()
}
