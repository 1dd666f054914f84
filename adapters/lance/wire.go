package lance

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protobuf message, with the bytes it was read from. A message is edited by
// replacing single fields in the list: what we don't know keeps its bytes and its place.
type field struct {
	num protowire.Number
	typ protowire.Type
	raw []byte // tag and value
	val []byte // the value of a length-delimited field
	int uint64 // the value of a varint or fixed field
}

var errWire = errors.New("not a valid protobuf message")

// parse splits a message into its fields. It never panics, whatever the bytes.
func parse(b []byte) ([]field, error) {
	var out []field
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, fmt.Errorf("%w: field %d: bad tag", errWire, len(out))
		}
		f := field{num: num, typ: typ}
		rest, m := b[n:], -1
		switch typ {
		case protowire.VarintType:
			f.int, m = protowire.ConsumeVarint(rest)
		case protowire.Fixed64Type:
			f.int, m = protowire.ConsumeFixed64(rest)
		case protowire.Fixed32Type:
			var v uint32
			v, m = protowire.ConsumeFixed32(rest)
			f.int = uint64(v)
		case protowire.BytesType:
			f.val, m = protowire.ConsumeBytes(rest)
		}
		if m < 0 {
			return nil, fmt.Errorf("%w: field number %d: bad value", errWire, num)
		}
		f.raw, b = b[:n+m], rest[m:]
		out = append(out, f)
	}
	return out, nil
}

// message is a parsed message.
type message []field

// uint is the last value of a varint field, as protobuf wants it; 0 and false if there is none.
func (m message) uint(num protowire.Number) (v uint64, ok bool) {
	for _, f := range m {
		if f.num == num && f.typ == protowire.VarintType {
			v, ok = f.int, true
		}
	}
	return v, ok
}

// bytes is the last value of a length-delimited field.
func (m message) bytes(num protowire.Number) (v []byte, ok bool) {
	for _, f := range m {
		if f.num == num && f.typ == protowire.BytesType {
			v, ok = f.val, true
		}
	}
	return v, ok
}

// text is bytes as a string; "" if there is none.
func (m message) text(num protowire.Number) string {
	v, _ := m.bytes(num)
	return string(v)
}

// sub parses the last embedded message of a field; nil if there is none.
func (m message) sub(num protowire.Number) (message, error) {
	v, ok := m.bytes(num)
	if !ok {
		return nil, nil
	}
	return parse(v)
}

// each calls fn with every embedded message of a repeated field.
func (m message) each(num protowire.Number, fn func(message) error) error {
	for _, f := range m {
		if f.num != num || f.typ != protowire.BytesType {
			continue
		}
		sub, err := parse(f.val)
		if err != nil {
			return err
		}
		if err := fn(sub); err != nil {
			return err
		}
	}
	return nil
}

// encode is the inverse of parse.
func (m message) encode() []byte {
	var out []byte
	for _, f := range m {
		out = append(out, f.raw...)
	}
	return out
}

// set returns the message with the first field of that number replaced, the others of it dropped, or the
// field added at the end. The receiver is unchanged.
func (m message) set(f field) message {
	out := make(message, 0, len(m)+1)
	placed := false
	for _, old := range m {
		switch {
		case old.num != f.num:
			out = append(out, old)
		case !placed:
			out, placed = append(out, f), true
		}
	}
	if !placed {
		out = append(out, f)
	}
	return out
}

// without returns the message without the fields of these numbers.
func (m message) without(nums ...protowire.Number) message {
	out := make(message, 0, len(m))
next:
	for _, f := range m {
		for _, n := range nums {
			if f.num == n {
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

func uintField(num protowire.Number, v uint64) field {
	raw := protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
	return field{num: num, typ: protowire.VarintType, raw: raw, int: v}
}

func bytesField(num protowire.Number, v []byte) field {
	raw := protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), v)
	return field{num: num, typ: protowire.BytesType, raw: raw, val: v}
}

func textField(num protowire.Number, v string) field { return bytesField(num, []byte(v)) }

func messageField(num protowire.Number, fields ...field) field {
	return bytesField(num, message(fields).encode())
}
