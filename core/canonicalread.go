package core

import (
	"reflect"
	"strconv"
	"strings"
)

// readCanonical reads a text that [canonicalText] could have written into a record that is empty; it reports false for
// any other, and leaves the record empty then. The strings of the record are parts of the text.
func readCanonical[R any](text string, r *R) bool {
	l, known := layouts[reflect.TypeFor[R]()]
	if !known {
		return false
	}
	c := canonical{text}
	if !c.read(l, reflect.ValueOf(r).Elem()) || c.rest != "" {
		var none R
		*r = none
		return false
	}
	return true
}

// canonical is what is left of a text.
type canonical struct{ rest string }

// take goes over s, if that comes next.
func (c *canonical) take(s string) bool {
	rest, ok := strings.CutPrefix(c.rest, s)
	if ok {
		c.rest = rest
	}
	return ok
}

func (c *canonical) read(l *layout, v reflect.Value) bool {
	switch l.kind {
	case reflect.String:
		s, ok := c.string()
		v.SetString(s)
		return ok
	case reflect.Bool:
		yes := c.take("true")
		v.SetBool(yes)
		return yes || c.take("false")
	case reflect.Uint64:
		n, err := strconv.ParseUint(c.number(), 10, 64)
		v.SetUint(n)
		return err == nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(c.number(), 10, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	case reflect.Pointer:
		v.Set(reflect.New(l.elem.of))
		return c.read(l.elem, v.Elem())
	case reflect.Slice:
		return c.slice(l, v)
	}
	return c.fields(l, v)
}

func (c *canonical) fields(l *layout, v reflect.Value) bool {
	if !c.take("{") {
		return false
	}
	first := true
	for _, f := range l.fields {
		next := c.rest
		if !first && !strings.HasPrefix(next, ",") {
			next = ""
		} else if !first {
			next = next[1:]
		}
		if !strings.HasPrefix(next, f.key) {
			if !f.optional {
				return false
			}
			continue
		}
		first = false
		c.rest = next[len(f.key):]
		if !c.read(f.layout, v.Field(f.index)) {
			return false
		}
	}
	return c.take("}")
}

func (c *canonical) slice(l *layout, v reflect.Value) bool {
	switch {
	case c.take("null"):
		return true
	case c.take("[]"):
		v.Set(reflect.MakeSlice(l.of, 0, 0))
		return true
	case !c.take("["):
		return false
	}
	for n := 0; ; n++ {
		v.Grow(1)
		v.SetLen(n + 1)
		if !c.read(l.elem, v.Index(n)) {
			return false
		}
		if !c.take(",") {
			return c.take("]")
		}
	}
}

// string is a string that stands for itself.
func (c *canonical) string() (s string, ok bool) {
	if !c.take(`"`) {
		return "", false
	}
	for i := range len(c.rest) {
		if b := c.rest[i]; b == '"' {
			s, c.rest = c.rest[:i], c.rest[i+1:]
			return s, true
		} else if !plain(b) {
			return "", false
		}
	}
	return "", false
}

// number is the text of an integer without a superfluous sign or zero; "" if there is none.
func (c *canonical) number() string {
	i := 0
	if strings.HasPrefix(c.rest, "-") {
		i++
	}
	from := i
	for i < len(c.rest) && c.rest[i] >= '0' && c.rest[i] <= '9' {
		i++
	}
	if i-from > 1 && c.rest[from] == '0' || c.rest[:i] == "-0" {
		return ""
	}
	n := c.rest[:i]
	c.rest = c.rest[i:]
	return n
}
