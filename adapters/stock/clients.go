package stock

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// ErrEnded is what a request returns when the clients' process ends before it answers.
var ErrEnded = errors.New("the stock clients have ended")

// closeGrace is how long Close waits for the process to end by itself.
const closeGrace = 10 * time.Second

// Clients is one running process of stock clients. Its methods may be called from many goroutines: requests
// run side by side in the process, so a commit that something holds does not hold up the next request.
type Clients struct {
	dir    string
	cmd    *exec.Cmd
	stderr tail
	ended  chan struct{} // closed once the process is gone and every answer has been handed over
	cause  error         // why it ended; read only after ended is closed

	sending  sync.Mutex // one request at a time on stdin
	requests io.WriteCloser

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan reply
}

// Error is what a client raised: the operation asked for, the type of the exception and its words.
type Error struct {
	Op      string `json:"-"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Error names the operation first: it is what a test's author recognises.
func (e *Error) Error() string { return fmt.Sprintf("stock %s: %s: %s", e.Op, e.Type, e.Message) }

type request struct {
	ID   uint64 `json:"id"`
	Op   string `json:"op"`
	Args any    `json:"args"`
}

type reply struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// Start runs the clients with a Python that has pylance and lancedb installed, and waits until they answer.
// The context bounds the start only; Close or Kill ends the process. It also ends by itself when ours does.
func Start(ctx context.Context, python string) (*Clients, error) {
	dir, err := unpack()
	if err != nil {
		return nil, err
	}
	c := &Clients{dir: dir, ended: make(chan struct{}), waiting: map[uint64]chan reply{}}
	if err := c.run(python); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("start the stock clients with %s: %w", python, err)
	}
	if _, err := c.Versions(ctx); err != nil {
		c.Kill()
		return nil, fmt.Errorf("start the stock clients with %s: %w", python, err)
	}
	return c, nil
}

func (c *Clients) run(python string) error {
	c.cmd = exec.Command(python, "-B", "-m", "stock", "serve")
	// Credentials come with each table's storage options, never from the environment of whoever runs us.
	c.cmd.Env = []string{
		"PYTHONPATH=" + filepath.Join(c.dir, "python"),
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + c.dir,
		"TMPDIR=" + os.TempDir(),
		"AWS_EC2_METADATA_DISABLED=true",
	}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.requests, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	answers, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	go c.receive(answers)
	return nil
}

// receive hands out the answers until the process closes its output, then records how it ended.
func (c *Clients) receive(answers io.Reader) {
	var bad error
	for decoder := json.NewDecoder(bufio.NewReader(answers)); ; {
		var r reply
		if err := decoder.Decode(&r); err != nil {
			if !errors.Is(err, io.EOF) {
				bad = fmt.Errorf("read an answer: %w", err)
				_ = c.cmd.Process.Kill()
			}
			break
		}
		c.mu.Lock()
		if answer, ok := c.waiting[r.ID]; ok { // absent: nobody waits any more
			delete(c.waiting, r.ID)
			answer <- r
		}
		c.mu.Unlock()
	}
	c.cause = errors.Join(ErrEnded, bad, c.cmd.Wait())
	if said := c.stderr.String(); said != "" {
		c.cause = fmt.Errorf("%w; its last words: %s", c.cause, said)
	}
	os.RemoveAll(c.dir)
	close(c.ended)
}

// Do asks for one operation by its name and decodes its result, which may be nil. What a client raises is
// an [*Error]. When the context ends first Do returns; the operation itself may still run to its end.
func (c *Clients) Do(ctx context.Context, op string, args, result any) error {
	answer := make(chan reply, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.waiting[id] = answer
	c.mu.Unlock()
	if err := c.send(request{ID: id, Op: op, Args: args}); err != nil {
		c.forget(id)
		return fmt.Errorf("stock %s: %w", op, err)
	}
	select {
	case r := <-answer:
		return r.decode(op, result)
	case <-ctx.Done():
		c.forget(id)
		return fmt.Errorf("stock %s: %w", op, ctx.Err())
	case <-c.ended:
		select {
		case r := <-answer: // it answered before it ended
			return r.decode(op, result)
		default:
			return fmt.Errorf("stock %s: %w", op, c.cause)
		}
	}
}

func (r reply) decode(op string, result any) error {
	if r.Error != nil {
		r.Error.Op = op
		return r.Error
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return fmt.Errorf("decode the result of stock %s: %w", op, err)
	}
	return nil
}

func (c *Clients) send(r request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if _, err := c.requests.Write(append(line, '\n')); err != nil {
		return errors.Join(ErrEnded, err)
	}
	return nil
}

func (c *Clients) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Close ends the process and waits for it; what still runs in it is dropped where it stands.
func (c *Clients) Close() error {
	c.sending.Lock()
	err := c.requests.Close()
	c.sending.Unlock()
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		c.Kill()
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the stock clients: %w", err)
	}
	return nil
}

// Kill ends the process with SIGKILL, as a machine that goes away does, and waits until it is gone.
func (c *Clients) Kill() {
	_ = c.cmd.Process.Kill() // an error says that it is gone already
	<-c.ended
}

// Process is the clients' process, for tests that stop or measure it.
func (c *Clients) Process() *os.Process { return c.cmd.Process }
