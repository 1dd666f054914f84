package gate_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/core"
)

// client is stock pylance in a process of its own, which runs one operation at a time.
type client struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
	cmd *exec.Cmd
	// stderr is read once the process has ended.
	stderr bytes.Buffer
}

// idle are clients that no test uses: importing pylance takes a second, so they are kept.
var idle struct {
	sync.Mutex
	clients []*client
}

var python = sync.OnceValues(func() (string, error) { return engine.FindPython(context.Background(), "") })

func stopClients() {
	idle.Lock()
	defer idle.Unlock()
	for _, c := range idle.clients {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
}

// pylance gives the test a client of its own.
func pylance(t *testing.T) *client {
	t.Helper()
	idle.Lock()
	var c *client
	if n := len(idle.clients); n > 0 {
		c, idle.clients = idle.clients[n-1], idle.clients[:n-1]
	}
	idle.Unlock()
	if c == nil {
		c = startClient(t)
	}
	t.Cleanup(func() {
		idle.Lock()
		defer idle.Unlock()
		idle.clients = append(idle.clients, c)
	})
	return c
}

func startClient(t *testing.T) *client {
	t.Helper()
	path, err := python()
	if err != nil {
		t.Fatalf("these tests need Python with pylance: %v", err)
	}
	c := &client{cmd: exec.Command(path, "testdata/client.py")}
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "AWS_EC2_METADATA_DISABLED=true", "LANCE_LOG=ERROR"}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = &c.stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	return c
}

// reply is what an operation of testdata/client.py answers.
type reply struct {
	Version core.Version
	Count   int
	Rows    map[string]string
	Shard   string
	Error   string
}

// args are an operation's arguments; see testdata/client.py.
type args map[string]any

// do runs one operation on a table through the gate, with a credential, and returns its answer.
func (c *client) do(t *testing.T, g *gate.Gate, cred gate.Credential, op string, target core.Target, a args) reply {
	t.Helper()
	request := args{"op": op, "uri": "s3://lake/" + target.Path(), "opts": g.StorageOptions(cred)}
	maps.Copy(request, a)
	return c.ask(t, request)
}

func (c *client) ask(t *testing.T, request args) reply {
	t.Helper()
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	start := time.Now()
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		t.Fatalf("%s: %v", request["op"], err)
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.cmd.Wait()
		t.Fatalf("%s: the client died: %v\n%s", request["op"], err, c.stderr.String())
	}
	var r reply
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%s: %v in %q", request["op"], err, line)
	}
	t.Logf("%s %s: v%d %s (%v)", request["op"], request["uri"], r.Version, firstLine(r.Error), time.Since(start).Round(time.Millisecond))
	return r
}

// must is do for an operation that has to succeed.
func (c *client) must(t *testing.T, g *gate.Gate, cred gate.Credential, op string, target core.Target, a args) reply {
	t.Helper()
	r := c.do(t, g, cred, op, target, a)
	if r.Error != "" {
		t.Fatalf("%s of %s: %s", op, target, r.Error)
	}
	return r
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s[:min(len(s), 200)]
}
