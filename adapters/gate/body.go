package gate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"syscall"

	"github.com/sluice-data/sluice/adapters/lake"
)

// maxInMemory is how much of one body is kept in memory; what is larger goes to a temporary file.
const maxInMemory = 64 << 20

// digest tells one body from another.
type digest struct {
	size int64
	sum  [sha256.Size]byte
}

// hasher computes a digest of what is written to it.
type hasher struct {
	size int64
	sum  hash.Hash
}

func newHasher() *hasher { return &hasher{sum: sha256.New()} }

func (h *hasher) Write(p []byte) (int, error) {
	h.size += int64(len(p))
	return h.sum.Write(p)
}

func (h *hasher) digest() digest {
	return digest{size: h.size, sum: [sha256.Size]byte(h.sum.Sum(nil))}
}

// body is a request's body, read whole. It is read-only and can be read by many at once, until close.
type body struct {
	digest digest
	bytes  []byte
	unmap  func() error
}

// errBody says that the sender's body could not be read to its end, or is not what its checksum says.
var errBody = errors.New("the request's body could not be read")

// readBody takes the whole body, in memory or in a temporary file mapped into it.
func readBody(r io.Reader, scratch string) (*body, error) {
	h := newHasher()
	var head bytes.Buffer
	_, err := io.Copy(io.MultiWriter(&head, h), io.LimitReader(r, maxInMemory))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBody, err)
	}
	if head.Len() < maxInMemory {
		return &body{digest: h.digest(), bytes: head.Bytes(), unmap: func() error { return nil }}, nil
	}
	f, err := os.CreateTemp(scratch, "body-")
	if err != nil {
		return nil, fmt.Errorf("keep a large body: %w", err)
	}
	defer f.Close()
	defer os.Remove(f.Name()) // the mapping keeps the file's content
	if _, err := f.Write(head.Bytes()); err != nil {
		return nil, fmt.Errorf("keep a large body: %w", err)
	}
	if _, err := io.Copy(io.MultiWriter(f, h), r); err != nil {
		return nil, fmt.Errorf("%w: %w", errBody, err)
	}
	mapped, err := syscall.Mmap(int(f.Fd()), 0, int(h.size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("keep a large body: %w", err)
	}
	return &body{digest: h.digest(), bytes: mapped, unmap: func() error { return syscall.Munmap(mapped) }}, nil
}

func (b *body) reader() io.Reader { return bytes.NewReader(b.bytes) }

// close ends the use of the bytes. A mapping that can't be undone costs address space, nothing else.
func (b *body) close() { _ = b.unmap() }

// Whether a key holds a certain body.
type presence uint8

const (
	presentSame presence = iota + 1
	presentOther
	absent
)

// readBack reads a key and compares it with a body. An error means that nothing is known.
func readBack(ctx context.Context, l lake.Lake, key string, want digest) (presence, error) {
	r, info, err := l.Open(ctx, key)
	if errors.Is(err, lake.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read back %s: %w", key, err)
	}
	defer r.Close()
	if info.Size != want.size {
		return presentOther, nil
	}
	h := newHasher()
	if _, err := io.Copy(h, r); err != nil {
		return 0, fmt.Errorf("read back %s: %w", key, err)
	}
	if h.digest() != want {
		return presentOther, nil
	}
	return presentSame, nil
}
