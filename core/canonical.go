package core

import (
	"reflect"
	"strconv"
	"strings"
)

// A record has exactly one text, so reading and writing it needs no general JSON: its fields stand in their order,
// with nothing between them. The functions here do that several times faster than encoding/json, which every process
// does for every change that it sees. They never decide anything else than encoding/json would: what isn't plainly of
// this form (an escape, a field that is not known, a text that somebody has typed) they leave to it.

// layout is how the values of one type stand in a text.
type layout struct {
	kind   reflect.Kind
	of     reflect.Type
	fields []layoutField // of a struct
	elem   *layout       // of a slice or a pointer
}

type layoutField struct {
	*layout
	index    int
	key      string // `"name":`
	optional bool   // left out when it is empty
}

// layouts are those of all records.
var layouts = layoutsOf(
	reflect.TypeFor[KVRecord](), reflect.TypeFor[TableRecord](), reflect.TypeFor[ExecutionID](), reflect.TypeFor[Execution](),
	reflect.TypeFor[Watermarks](), reflect.TypeFor[Progress](), reflect.TypeFor[Demand](), reflect.TypeFor[Latch](),
	reflect.TypeFor[Policy](), reflect.TypeFor[FailureRecord](), reflect.TypeFor[MasterRecord](), reflect.TypeFor[WorkerRecord](),
	reflect.TypeFor[Load](), reflect.TypeFor[History](), reflect.TypeFor[Takeover](), reflect.TypeFor[Reclaim](), reflect.TypeFor[Deletes](),
)

func layoutsOf(types ...reflect.Type) map[reflect.Type]*layout {
	all := map[reflect.Type]*layout{}
	for _, t := range types {
		layoutOf(t, all)
	}
	return all
}

func layoutOf(t reflect.Type, known map[reflect.Type]*layout) *layout {
	if l, ok := known[t]; ok {
		return l
	}
	l := &layout{kind: t.Kind(), of: t}
	known[t] = l
	switch l.kind {
	case reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() {
				continue // no part of the record
			}
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			assert(name != "" && name != "-", "field %s of %s has a name in its record", t.Field(i).Name, t)
			l.fields = append(l.fields, layoutField{layoutOf(t.Field(i).Type, known), i, `"` + name + `":`, options == "omitempty"})
		}
	case reflect.Slice, reflect.Pointer:
		l.elem = layoutOf(t.Elem(), known)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64:
	default:
		assert(false, "a record has no %s", t)
	}
	return l
}

// plain reports whether a byte of a string stands for itself in its text.
func plain(b byte) bool {
	return b >= 0x20 && b < 0x7f && b != '"' && b != '\\' && b != '<' && b != '>' && b != '&'
}

// canonicalText is the text of a record; ok is false if it takes encoding/json to write it.
func canonicalText(record any) (text string, ok bool) {
	v := reflect.ValueOf(record)
	l, known := layouts[v.Type()]
	if !known {
		return "", false
	}
	b, ok := l.write(make([]byte, 0, 512), v)
	if !ok {
		return "", false
	}
	return string(b), true
}

func (l *layout) write(b []byte, v reflect.Value) (_ []byte, ok bool) {
	switch l.kind {
	case reflect.String:
		s := v.String()
		for i := range len(s) {
			if !plain(s[i]) {
				return b, false
			}
		}
		return append(append(append(b, '"'), s...), '"'), true
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), true
	case reflect.Uint64:
		return strconv.AppendUint(b, v.Uint(), 10), true
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), true
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, "null"...), true
		}
		return l.elem.write(b, v.Elem())
	case reflect.Slice:
		return l.writeSlice(b, v)
	}
	first := true
	b = append(b, '{')
	for _, f := range l.fields {
		fv := v.Field(f.index)
		if f.optional && empty(fv) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if b, ok = f.write(append(b, f.key...), fv); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

func (l *layout) writeSlice(b []byte, v reflect.Value) (_ []byte, ok bool) {
	if v.IsNil() {
		return append(b, "null"...), true
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = l.elem.write(b, v.Index(i)); !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

// empty is what omitempty leaves out: of a struct, nothing.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
