package lake

import (
	"bytes"
	"context"
	"io"
)

// Hold is a lake between a caller and the real one that can stop a put-if-absent on its way, as a network
// can stop a packet. The demonstration and the tests use it to make a commit late; nothing else does.
//
// A held put is out of its caller's hands: when the caller gives up it gets an unknown outcome, and the put
// still reaches storage once it is let go.
type Hold struct {
	Lake
	match func(key string) bool
	held  chan *HeldPut
}

// maxHeld bounds the puts that wait to be taken by [Hold.Next]; one more waits with its caller.
const maxHeld = 64

// NewHold holds every put-if-absent whose key matches; match is called once a put, by many goroutines.
// Held puts are handed out by [Hold.Next], oldest first.
func NewHold(inner Lake, match func(key string) bool) *Hold {
	return &Hold{Lake: inner, match: match, held: make(chan *HeldPut, maxHeld)}
}

// HeldPut is one put that waits.
type HeldPut struct {
	Key  string
	body []byte
	ctx  context.Context
	to   Lake
	done chan struct{} // closed once storage has answered
	err  error         // storage's answer; read after done
}

// PutIfAbsent implements [Lake].
func (h *Hold) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	if !h.match(key) {
		return h.Lake.PutIfAbsent(ctx, key, body)
	}
	all, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	put := &HeldPut{Key: key, body: all, ctx: context.WithoutCancel(ctx), to: h.Lake, done: make(chan struct{})}
	select {
	case h.held <- put:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-put.done:
		return put.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Next waits until a put is held and returns it.
func (h *Hold) Next(ctx context.Context) (*HeldPut, error) {
	select {
	case put := <-h.held:
		return put, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Release lets the put go to storage and returns what storage answered: nil if it landed, [ErrExists] if
// it came too late. The caller, if it still waits, gets the same. To be called once.
func (p *HeldPut) Release() error {
	p.err = p.to.PutIfAbsent(p.ctx, p.Key, bytes.NewReader(p.body))
	close(p.done)
	return p.err
}
