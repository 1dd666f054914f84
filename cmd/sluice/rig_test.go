package main_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
	"github.com/sluice-data/sluice/adapters/stock"
)

// What the tests share: the real binary, the stock clients, and one table that each test copies. Making them
// takes longer than any test.
var (
	binary  string
	python  string
	clients *stock.Clients
	// events is a LanceDB table with 100 rows in its base and 5 pending generations of 40 rows; record is
	// what its view must be.
	events, record string
)

const stampedVersion = "v0.0.0-test"

func TestMain(m *testing.M) {
	s3test.Main()
	flag.Parse()
	// These tests wait for limits and processes more than they compute.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		f.Value.Set("8")
	}
	dir, err := os.MkdirTemp("", "sluice-cli-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = prepare(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	code := m.Run()
	clients.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

func prepare(dir string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	binary = filepath.Join(dir, "sluice")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-X main.version="+stampedVersion, "-o", binary, ".")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build sluice: %w: %s", err, said)
	}
	if python, err = engine.FindPython(ctx, ""); err != nil {
		return err
	}
	if clients, err = stock.Start(ctx, python); err != nil {
		return err
	}
	events, record = filepath.Join(dir, "events.lance"), filepath.Join(dir, "record")
	table := stock.Table{URI: events}
	if err := clients.CreateLSM(ctx, table, stock.Rows{To: 100}, record); err != nil {
		return err
	}
	_, err = clients.WriteGenerations(ctx, table, 5, 40, record)
	return err
}

// newLake is a lake with a copy of the table events at each of the paths.
func newLake(t testing.TB, targets ...string) string {
	t.Helper()
	lake := filepath.Join(t.TempDir(), "lake")
	must(t, os.Mkdir(lake, 0o755))
	for _, target := range targets {
		copyTable(t, events, lake, target)
	}
	return lake
}

func copyTable(t testing.TB, from, lake, target string) {
	t.Helper()
	must(t, os.CopyFS(filepath.Join(lake, target+".lance"), os.DirFS(from)))
}

// command is the binary with its arguments; env adds to the environment.
func command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, binary, args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + filepath.Dir(binary), engine.PythonEnv + "=" + python}
	c.Env = append(c.Env, env...)
	return c
}

// outcome is how a run ended.
type outcome struct {
	code           int
	stdout, stderr string
}

func sluice(t testing.TB, args ...string) outcome {
	t.Helper()
	return sluiceWith(t, nil, args...)
}

func sluiceWith(t testing.TB, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	return finish(t, command(ctx, env, args...))
}

func finish(t testing.TB, c *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %v: %v", c.Args, err)
	}
	return outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (o outcome) want(t testing.TB, code int, words ...string) {
	t.Helper()
	if o.code != code {
		t.Fatalf("expected exit code %d, got %d: %s%s", code, o.code, o.stdout, o.stderr)
	}
	for _, w := range words {
		if !strings.Contains(o.stdout+o.stderr, w) {
			t.Errorf("expected %q in: %s%s", w, o.stdout, o.stderr)
		}
	}
}

// wantOneLine checks that the error is one line that says who speaks.
func (o outcome) wantOneLine(t testing.TB) {
	t.Helper()
	if strings.Count(o.stderr, "\n") != 1 || !strings.HasPrefix(o.stderr, "sluice: ") || o.stdout != "" {
		t.Errorf("expected one line on stderr, got %q and %q on stdout", o.stderr, o.stdout)
	}
}

// fingerprint is everything in a directory: names, kinds and bytes.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			fmt.Fprintln(h, path)
			return err
		}
		body, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %x\n", path, sha256.Sum256(body))
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// wantMerged checks that the base of a copy of events is what its writers recorded.
func wantMerged(t testing.TB, lake, target string) {
	t.Helper()
	base := stock.BaseOf(stock.Table{URI: filepath.Join(lake, target+".lance")})
	c, err := clients.Compare(t.Context(), stock.File(record), base)
	must(t, err)
	if !c.Equal {
		t.Errorf("the base of %s is not what was written: %s", target, c)
	}
}

func wantUnmerged(t testing.TB, lake, target string) {
	t.Helper()
	s, err := clients.State(t.Context(), stock.Table{URI: filepath.Join(lake, target+".lance")})
	must(t, err)
	if len(s.Marks) > 0 {
		t.Errorf("%s has the marks %v, expected none", target, s.Marks)
	}
}

func decode[V any](t testing.TB, text string) (v V) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
