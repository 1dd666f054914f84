package lance

import (
	"encoding/binary"
	"fmt"
	"slices"
)

const (
	magic      = "LANC"
	footerSize = 16 // u64 position, u16 major, u16 minor, magic
)

// file is a base manifest's file, split at the Manifest: everything before it is kept as it is.
type file struct {
	head     []byte // sections before the Manifest, each with its length before it
	manifest message
	version  [4]byte // major and minor
}

func splitFile(b []byte) (file, error) {
	if len(b) < footerSize || string(b[len(b)-4:]) != magic {
		return file{}, fmt.Errorf("it does not end with %q", magic)
	}
	footer := b[len(b)-footerSize:]
	end := uint64(len(b) - footerSize)
	pos := binary.LittleEndian.Uint64(footer)
	if end < 4 || pos > end-4 {
		return file{}, fmt.Errorf("its manifest lies at %d of %d bytes", pos, len(b))
	}
	length := uint64(binary.LittleEndian.Uint32(b[pos:]))
	if length != end-pos-4 {
		return file{}, fmt.Errorf("its manifest says %d bytes and has %d", length, end-pos-4)
	}
	m, err := parse(b[pos+4 : end])
	if err != nil {
		return file{}, err
	}
	return file{head: b[:pos:pos], manifest: m, version: [4]byte(footer[8:12])}, nil
}

// section is the message at a position before the Manifest.
func (f file) section(pos uint64) (message, error) {
	n := uint64(len(f.head))
	if n < 4 || pos > n-4 {
		return nil, fmt.Errorf("a section lies at %d of %d bytes", pos, n)
	}
	length := uint64(binary.LittleEndian.Uint32(f.head[pos:]))
	if length > n-pos-4 {
		return nil, fmt.Errorf("the section at %d says %d bytes and has %d", pos, length, n-pos-4)
	}
	return parse(f.head[pos+4 : pos+4+length])
}

// withSection returns the file with one more section, and the position of that section.
func (f file) withSection(m message) (file, uint64) {
	pos := uint64(len(f.head))
	f.head = appendSized(slices.Clone(f.head), m.encode())
	return f, pos
}

// encode is the inverse of splitFile.
func (f file) encode() []byte {
	out := appendSized(slices.Clone(f.head), f.manifest.encode())
	out = binary.LittleEndian.AppendUint64(out, uint64(len(f.head)))
	out = append(out, f.version[:]...)
	return append(out, magic...)
}

func appendSized(b, section []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(section)))
	return append(b, section...)
}
