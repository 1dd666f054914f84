package gate_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/adapters/lake"
)

func TestVersionsPastTheGateAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	w.adopted(t, c)
	if f := w.ForeignVersions(table); f.Count != 0 {
		t.Errorf("before anything went past the gate: %+v", f)
	}
	if r := c.ask(t, args{"op": "append", "uri": w.dir + "/" + table.Path(), "opts": args{}, "ids": ids(50, 52)}); r.Error != "" {
		t.Fatal(r.Error)
	}
	past := w.head(t)
	c.must(t, w.Gate, w.client, "append", table, args{"ids": ids(60, 62)})
	c.must(t, w.Gate, w.client, "append", table, args{"ids": ids(70, 72)})
	if f := w.ForeignVersions(table); f.Count != 1 || f.Latest != past || f.LastSeen.IsZero() {
		t.Errorf("after one append past the gate: %+v, want one, version %d", f, past)
	}
	w.intact(t, c, 16)
}

func TestAPortInUseIsOneClearLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	_, err := gate.Start(t.Context(), gate.Config{Lake: w.lake, Authority: w.authority, Address: w.Addr(), Scratch: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), w.Addr()+": the port is in use") || strings.Contains(err.Error(), "\n") {
		t.Errorf("starting on a port in use: %v", err)
	}
}

// quietEnv makes this test program the child of TestTheGatePrintsNothing.
const quietEnv = "SLUICE_TEST_QUIET_GATE"

// The library's banners and warnings would stand in the output of every command.
func TestTheGatePrintsNothing(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(quietEnv); dir != "" {
		serveOnce(dir)
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheGatePrintsNothing$")
	cmd.Env = append(os.Environ(), quietEnv+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("a gate that started, served and closed: %v, printed %q", err, out)
	}
}

// serveOnce runs a gate, asks it for something, and closes it; any error is printed.
func serveOnce(dir string) {
	l, err := lake.OpenLocal(dir)
	if err != nil {
		panic(err)
	}
	g, err := gate.Start(context.Background(), gate.Config{Lake: l, Authority: newFakeAuthority(), Scratch: os.TempDir()})
	if err != nil {
		panic(err)
	}
	c, err := g.GrantClient("", "")
	if err != nil {
		panic(err)
	}
	if err := newWire(g, c).tryNew(context.Background(), "loose/file", []byte("x")); err != nil {
		panic(err)
	}
	if err := errors.Join(g.Close(), l.Close()); err != nil {
		panic(err)
	}
}

func TestAGateThatCannotStandRefusesToStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	for what, c := range map[string]gate.Config{
		"no lake":              {Authority: w.authority},
		"no authority":         {Lake: w.lake},
		"a negative time-out":  {Lake: w.lake, Authority: w.authority, StorageTimeout: -1},
		"no scratch directory": {Lake: w.lake, Authority: w.authority, Scratch: w.dir + "/missing"},
	} {
		if _, err := gate.Start(t.Context(), c); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line", what, err)
		}
	}
	if _, err := w.GrantClient("mine", "short"); err == nil {
		t.Error("a secret of five characters is taken")
	}
	if c, err := w.GrantClient("mine", "long-enough"); err != nil || newWire(w.Gate, c).put(t, "loose/mine", "x") != 200 {
		t.Errorf("a client with keys from the configuration can't write (%v)", err)
	}
}
