package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/core"
)

// fake is a stand-in for Python: a shell script that gets the same arguments.
func fake(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const fakeReady = `echo '{"type":"ready","body":{"pylance":"` + engine.Pylance + `","pid":1}}'; read job; `

func fakeEngine(t *testing.T, script string) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Config{Python: fake(t, script), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

var anyJob = engine.Job{URI: "x", Shards: []engine.Shard{{Shard: shardA, Generations: []engine.Generation{{Generation: 1}}}}}

func TestAnEndWithoutAnAnswerIsJudgedByHowItEnded(t *testing.T) {
	t.Parallel()
	const plan = `echo '{"type":"plan","body":{"rows":1,"tombstones":0,"commits":1,"rebasable":true}}'; read go; `
	for _, c := range []struct {
		name   string
		script string
		want   core.Code
		words  string
	}{
		{"aborted for memory", `echo "memory allocation of 123 bytes failed" >&2; kill -ABRT $$`, core.CodeEngineOOM, "memory limit"},
		{"aborted for another reason", `echo "assertion" >&2; kill -ABRT $$`, core.CodeEngineUnknown, "assertion"},
		{"no memory for an answer", `echo "MemoryError" >&2; exit 1`, core.CodeEngineOOM, "memory"},
		{"killed", `kill -KILL $$`, core.CodeEngineKilled, "killed"},
		{"segmentation fault", `kill -SEGV $$`, core.CodeEngineKilled, "segmentation fault"},
		{"left", `echo "no reason" >&2; exit 4`, core.CodeEngineUnknown, "status 4 and no answer: no reason"},
		{"spoke without a meaning", `echo "hello"; sleep 1000`, core.CodeEngineUnknown, "the wire's rules"},
		{"spoke without an end", `head -c 1000000 /dev/zero | tr '\0' x; sleep 1000`, core.CodeEngineUnknown, "too long"},
		{"done without a plan", `echo '{"type":"done","body":{"rows_upserted":1,"rows_deleted":0,"version":3}}'`, core.CodeEngineUnknown, "before a plan"},
		{"answered and did not leave", `echo '{"type":"failed","body":{"code":"E_STALE","message":"m","shard":"","generation":0,"other":""}}'; exec >&-; kill -STOP $$`, core.CodeStale, "m"},
		{"answered and crashed", plan + `echo '{"type":"done","body":{"rows_upserted":1,"rows_deleted":0,"version":3}}'; kill -SEGV $$`, core.CodeOK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := follow(t, start(t, fakeEngine(t, fakeReady+c.script), anyJob), nil)
			wantCode(t, r.failure, c.want)
			if !strings.Contains(r.failure.Detail, c.words) {
				t.Errorf("detail %q, want one with %q", r.failure.Detail, c.words)
			}
		})
	}
}

func TestStderrIsBounded(t *testing.T) {
	t.Parallel()
	e := fakeEngine(t, fakeReady+`head -c 5000000 /dev/zero | tr '\0' x >&2; echo "last words" >&2; exit 1`)
	r := follow(t, start(t, e, anyJob), nil)
	if n := len(r.failure.Detail); n > 17<<10 || !strings.HasSuffix(r.failure.Detail, "last words") {
		t.Errorf("detail has %d bytes and ends with %q", n, r.failure.Detail[max(0, n-20):])
	}
}

func TestProgressThatNobodyReadsStallsNothing(t *testing.T) {
	t.Parallel()
	e := fakeEngine(t, fakeReady+`i=0; while [ $i -lt 5000 ]; do echo '{"type":"progress","body":{"phase":"read","rows":1,"batches":1,"bytes":1}}'; i=$((i+1)); done
		echo '{"type":"failed","body":{"code":"E_STALE","message":"m","shard":"","generation":0,"other":""}}'`)
	p := start(t, e, anyJob)
	if f, ok := p.Wait().(engine.Failed); !ok || f.Code != core.CodeStale {
		t.Errorf("last event %v, want E_STALE", p.Wait())
	}
}

func TestAnotherPylanceIsRefused(t *testing.T) {
	t.Parallel()
	e := fakeEngine(t, `echo '{"type":"ready","body":{"pylance":"13.0.0","pid":1}}'; read job`)
	_, err := e.Start(t.Context(), anyJob)
	if !engine.IsMissing(err) || !strings.Contains(err.Error(), "pylance 13.0.0 found, "+engine.Pylance+" needed: run make .venv") {
		t.Errorf("error %v", err)
	}
}

func TestStopEndsWhatIgnoresTheTermSignal(t *testing.T) {
	t.Parallel()
	e := fakeEngine(t, `trap '' TERM; `+fakeReady+`sleep 1000`)
	p := start(t, e, anyJob)
	p.Stop(10 * time.Millisecond)
	if f, ok := p.Wait().(engine.Failed); !ok || f.Code != core.CodeCancelled {
		t.Errorf("last event %v, want E_CANCELLED", p.Wait())
	}
	wantGone(t, p.PID())
}

func TestAnEngineIsKilledInTheMiddleOfItsPass(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(5, 15, "one"), row{"id": 1})
	want := tb.view(shardA)
	p := start(t, merger, tb.job(shardA))
	r := follow(t, p, func(engine.Plan) { syscall.Kill(p.PID(), syscall.SIGKILL) })
	wantCode(t, r.failure, core.CodeEngineKilled)
	if v := tb.base().Version; v != 2 {
		t.Errorf("base at version %d, want nothing published", v)
	}
	wantCode(t, merge(t, tb.job(shardA)).failure, core.CodeOK)
	wantRows(t, tb.base().Rows, want)
}

func TestAnEngineThatIsStoppedAtItsPlanPublishesNothing(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	tb.put(shardA, ids(5, 15, "one"))
	p := start(t, merger, tb.job(shardA))
	var last engine.Event
	for ev := range p.Events() {
		if _, ok := ev.(engine.Plan); ok {
			go p.Stop(time.Minute)
		}
		last = ev
	}
	if f, ok := last.(engine.Failed); !ok || f.Code != core.CodeCancelled {
		t.Errorf("last event %v, want E_CANCELLED", last)
	}
	if v := tb.base().Version; v != 2 {
		t.Errorf("base at version %d, want nothing published", v)
	}
}

func TestAnEngineThatNeedsTooMuchMemoryEndsAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t, []string{"id"}, ids(0, 10, "base"), idAndText...)
	lsm.call(t, nil, "bulk_put", args{"dir": tb.dir, "shard": shardA, "rows": 8000, "width": 12000})
	j := tb.job(shardA)
	j.Shards[0].Generations[0].Bytes = 1 // a lie, so that it is kept in memory
	e := newEngine(t, engine.Config{MemoryLimit: 320 << 20, Threads: 1, ReadThreads: 1})
	p, err := e.Start(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	r := follow(t, p, nil)
	wantCode(t, r.failure, core.CodeEngineOOM)
	t.Logf("%v", r.failure)
}

func TestAnEngineHasAnEnvironmentOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := filepath.Join(t.TempDir(), "seen")
	e := fakeEngine(t, "(env; echo \"$@\") > "+seen+"; "+fakeReady+"exit 0")
	j := anyJob
	j.StorageOptions = map[string]string{"aws_secret_access_key": "hush"}
	follow(t, start(t, e, j), nil)
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "PATH", "HOME", "TMPDIR", "LANG", "LANCE_LOG", "PWD", "OLDPWD", "_", "SHLVL":
		case "AWS_EC2_METADATA_DISABLED":
			if value != "true" {
				t.Errorf("instance metadata is on")
			}
		default:
			if !strings.HasPrefix(line, "-I -B ") || strings.Contains(line, "hush") {
				t.Errorf("the engine sees %s", line)
			}
		}
	}
}

func TestCloseEndsEveryProcess(t *testing.T) {
	t.Parallel()
	e := fakeEngine(t, fakeReady+"sleep 1000")
	var pids []int
	for range 3 {
		pids = append(pids, start(t, e, anyJob).PID())
	}
	if err := e.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		wantGone(t, pid)
	}
	if _, err := e.Start(t.Context(), anyJob); err == nil {
		t.Error("a closed engine takes a job")
	}
}

func TestAProcessThatNeverGetsReadyIsGivenUp(t *testing.T) {
	t.Parallel()
	e := fakeEngine(t, "sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Start(ctx, anyJob); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the start was cancelled", err)
	}
}

// wantGone fails the test if a process with that id is there.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// workerEnv makes this test binary a worker that starts an engine, says its pid and waits to be killed.
const workerEnv = "SLUICE_TEST_WORKER_PYTHON"

func runAsWorker(python string) int {
	e, err := engine.New(engine.Config{Python: python, TempDir: os.Getenv("TMPDIR")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p, err := e.Start(context.Background(), anyJob)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	json.NewEncoder(os.Stdout).Encode(p.PID())
	select {}
}

func TestAnEngineDiesWithItsWorker(t *testing.T) {
	t.Parallel()
	worker := exec.CommandContext(t.Context(), os.Args[0])
	// NB: it never reads its stdin again, so only the kernel can end it.
	worker.Env = append(os.Environ(), workerEnv+"="+fake(t, fakeReady+"exec sleep 1000"), "TMPDIR="+t.TempDir())
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var pid int
	if err != nil || json.Unmarshal([]byte(line), &pid) != nil {
		t.Fatalf("the worker says %q %v", line, err)
	}
	engineProcess, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(engineProcess)
	worker.Process.Kill()
	worker.Wait()
	wait := []unix.PollFd{{Fd: int32(engineProcess), Events: unix.POLLIN}}
	if n, err := unix.Poll(wait, 30_000); n != 1 || err != nil {
		t.Errorf("engine process %d outlives its worker: %v", pid, err)
	}
}

func TestTheProgramEndsWhenItsStdinCloses(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), python, "-I", "-B", "python", "0")
	cmd.Env = []string{"HOME=" + t.TempDir()}
	err := cmd.Run() // stdin is /dev/null
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v, want exit status 3", err)
	}
}

func TestLostRaces(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/test_races.py", "python")
	cmd.Env = append(os.Environ(), "LANCE_LOG=error,lance::index=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
