package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// envelope is one line of the wire.
type envelope struct {
	Type string          `json:"type"`
	Body json.RawMessage `json:"body"`
}

// typeOf is the name that a message has on the wire; empty for what is no message.
func typeOf(message any) string {
	switch message.(type) {
	case ready:
		return "ready"
	case job:
		return "job"
	case proceed:
		return "go"
	case Progress:
		return "progress"
	case Plan:
		return "plan"
	case Done:
		return "done"
	case failed:
		return "failed"
	}
	return ""
}

// encode returns a message as one line, line end included.
func encode(message any) ([]byte, error) {
	kind := typeOf(message)
	if kind == "" {
		return nil, fmt.Errorf("encode engine message: %T is none", message)
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode engine message %s: %w", kind, err)
	}
	line, err := json.Marshal(envelope{Type: kind, Body: body})
	if err != nil {
		return nil, fmt.Errorf("encode engine message %s: %w", kind, err)
	}
	return append(line, '\n'), nil
}

// decode returns the message of a line. An unknown type or field is an error, as it is in Python.
func decode(line []byte) (any, error) {
	var e envelope
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("decode engine message: %w", err)
	}
	switch e.Type {
	case "ready":
		return decodeBody[ready](e)
	case "job":
		return decodeBody[job](e)
	case "go":
		return decodeBody[proceed](e)
	case "progress":
		return decodeBody[Progress](e)
	case "plan":
		return decodeBody[Plan](e)
	case "done":
		return decodeBody[Done](e)
	case "failed":
		return decodeBody[failed](e)
	}
	return nil, fmt.Errorf("decode engine message: unknown type %q", e.Type)
}

func decodeBody[M any](e envelope) (any, error) {
	var m M
	d := json.NewDecoder(bytes.NewReader(e.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("decode engine message %s: %w", e.Type, err)
	}
	return m, nil
}
