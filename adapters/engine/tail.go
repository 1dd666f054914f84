package engine

import (
	"bytes"
	"strings"
	"sync"
)

// tailBytes is how much of a process's stderr is kept.
const tailBytes = 16 << 10

// tail keeps the last [tailBytes] of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := append(t.buf, p[max(0, len(p)-tailBytes):]...)
	t.buf = append(t.buf[:0], kept[max(0, len(kept)-tailBytes):]...)
	return len(p), nil
}

// String is what was kept, as text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.buf)), "?")
}
