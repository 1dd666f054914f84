package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// A child is this test binary run again: a whole process of ours that can be killed.

// childVariable in the environment makes a test binary a child; its value is a [childSpec].
const childVariable = "SLUICE_TEST_CHILD"

type childSpec struct {
	Lake, Python, Gate string
	Owned              []core.Target
	Poll               time.Duration
	Admissions         string
	// Stuck names a transaction at which the child hangs; Hold is a part of keys whose puts it holds.
	Stuck, Hold string
}

// said is one line that a child prints.
type said struct {
	Ready   string        `json:"ready,omitempty"` // the gate's address
	Stuck   string        `json:"stuck,omitempty"`
	Held    string        `json:"held,omitempty"`
	History *core.History `json:"history,omitempty"`
	Failure *core.Failure `json:"failure,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// beChild runs a node until stdin ends; each line on stdin is a target to merge.
func beChild(text string) int {
	out := json.NewEncoder(os.Stdout)
	if err := runChild(text, out); err != nil {
		out.Encode(said{Error: err.Error()})
		return 1
	}
	return 0
}

func runChild(text string, out *json.Encoder) error {
	var spec childSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := make(chan said)
	go func() {
		for s := range lines {
			out.Encode(s)
		}
	}()
	node, err := embedded.Open(ctx, embedded.Config{
		Lake: spec.Lake, Python: spec.Python, Owned: spec.Owned, GateAddress: spec.Gate,
		Limits: core.Limits{Poll: spec.Poll, Probe: 500 * time.Millisecond},
		Log:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Below: func(l lake.Lake) lake.Lake {
			h := newHolding(l)
			if spec.Hold != "" {
				h.next(-1, spec.Hold)
				go func() {
					for {
						p, err := h.Next(ctx)
						if err != nil {
							return
						}
						lines <- said{Held: p.Key}
					}
				}()
			}
			return h
		},
		AroundKV: func(k kv.KV) kv.KV {
			f := &faultyKV{KV: k, admissions: spec.Admissions}
			f.breakCommits(func(ctx context.Context, t core.Txn, send apply) (kv.Answer, error) {
				if spec.Stuck != "" && t.Name == spec.Stuck {
					lines <- said{Stuck: t.Name}
					<-ctx.Done()
					return kv.Answer{}, ctx.Err()
				}
				return send()
			})
			return f
		},
	})
	if err != nil {
		return err
	}
	lines <- said{Ready: node.Gate.Addr()}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		t := core.Target(in.Text())
		after, err := node.Request(ctx, t)
		var f core.Failure
		if errors.As(err, &f) {
			lines <- said{Failure: &f}
			continue
		}
		if err != nil {
			return err
		}
		h, err := node.Await(ctx, t, after)
		if err != nil {
			return err
		}
		lines <- said{History: &h}
	}
	return node.Close()
}

type child struct {
	rig   *rig
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan said
}

// child starts one on the rig's lake and waits until it is ready.
func (r *rig) child(spec childSpec) *child {
	r.Helper()
	c := r.spawn(spec)
	if s := c.next(); s.Ready == "" {
		r.Fatalf("expected the child to get ready, it said %+v", s)
	} else if spec.Gate == "" {
		c.rig.Logf("child %d serves its gate on %s", c.cmd.Process.Pid, s.Ready)
	}
	return c
}

func (r *rig) spawn(spec childSpec) *child {
	r.Helper()
	spec.Lake, spec.Owned, spec.Admissions = r.dir, r.cfg.Owned, r.chain.admissions
	if spec.Python == "" {
		spec.Python = python
	}
	if spec.Poll == 0 {
		spec.Poll = time.Hour
	}
	text, err := json.Marshal(spec)
	r.must(err)
	self, err := os.Executable()
	r.must(err)
	c := &child{rig: r, cmd: exec.Command(self), lines: make(chan said, 64)}
	// What a killed child leaves behind goes with the test.
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text), "TMPDIR="+r.TempDir())
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stderr = r.Output()
	c.stdin, err = c.cmd.StdinPipe()
	r.must(err)
	stdout, err := c.cmd.StdoutPipe()
	r.must(err)
	r.must(c.cmd.Start())
	go func() {
		defer close(c.lines)
		for in := json.NewDecoder(stdout); ; {
			var s said
			if in.Decode(&s) != nil {
				return
			}
			c.lines <- s
		}
	}()
	r.Cleanup(c.kill)
	return c
}

// next is what the child says next.
func (c *child) next() said {
	c.rig.Helper()
	select {
	case s, ok := <-c.lines:
		if !ok {
			c.rig.Fatalf("the child has ended")
		}
		return s
	case <-time.After(patience):
		c.rig.Fatalf("the child said nothing for %v", patience)
	}
	return said{}
}

// merge tells the child to merge a target.
func (c *child) merge(t core.Target) {
	c.rig.Helper()
	_, err := fmt.Fprintln(c.stdin, t)
	c.rig.must(err)
}

// kill is kill -9. It is safe to call twice.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // an error says that it is gone already
	for range c.lines {
	}
	_ = c.cmd.Wait()
	c.stdin.Close()
}
