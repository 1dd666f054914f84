package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/core"
)

// Client asks the API of a process. An error that the API reports is a [*Problem].
type Client struct {
	// URL is where the API is, such as http://127.0.0.1:8080.
	URL string
	// Caller shows who asks; the zero value is nobody in particular, on the loopback.
	Caller Caller
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// Health asks which process answers.
func (c Client) Health(ctx context.Context) (Health, error) {
	return ask[Health](ctx, c, http.MethodGet, "/healthz", nil)
}

// Targets lists the tables of the lake.
func (c Client) Targets(ctx context.Context) ([]Target, error) {
	list, err := ask[Targets](ctx, c, http.MethodGet, "/api/v1/targets", nil)
	return list.Targets, err
}

// Target shows one table.
func (c Client) Target(ctx context.Context, t core.Target) (Target, error) {
	return ask[Target](ctx, c, http.MethodGet, "/api/v1/target", url.Values{"name": {string(t)}})
}

// Merge asks for a merge.
func (c Client) Merge(ctx context.Context, t core.Target, now bool) (Asked, error) {
	return ask[Asked](ctx, c, http.MethodPost, "/api/v1/merge", url.Values{"target": {string(t)}, "kind": {"merge"}, "now": {strconv.FormatBool(now)}})
}

// Progress shows what runs on a table right now.
func (c Client) Progress(ctx context.Context, t core.Target) (Progress, error) {
	return ask[Progress](ctx, c, http.MethodGet, "/api/v1/merge-progress", url.Values{"target": {string(t)}})
}

// Executions lists what became of the executions with a higher number than after, oldest first.
func (c Client) Executions(ctx context.Context, t core.Target, after uint64) ([]core.History, error) {
	list, err := ask[Executions](ctx, c, http.MethodGet, "/api/v1/executions",
		url.Values{"target": {string(t)}, "after": {strconv.FormatUint(after, 10)}})
	return list.Executions, err
}

// Adopt adopts a table anew; gone ends what owns a table that is gone for good.
func (c Client) Adopt(ctx context.Context, t core.Target, gone bool) (Adopted, error) {
	return ask[Adopted](ctx, c, http.MethodPost, "/api/v1/adopt", url.Values{"target": {string(t)}, "gone": {strconv.FormatBool(gone)}})
}

func ask[B any](ctx context.Context, c Client, method, path string, query url.Values) (out B, err error) {
	return send[B](ctx, c, method, path, query, nil)
}

// send asks with a body; nil is none.
func send[B any](ctx context.Context, c Client, method, path string, query url.Values, with any) (out B, err error) {
	var content io.Reader
	if with != nil {
		text, err := json.Marshal(with)
		if err != nil {
			return out, fmt.Errorf("ask %s: %w", c.URL, err)
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path+"?"+query.Encode(), content)
	if err != nil {
		return out, fmt.Errorf("ask %s: %w", c.URL, err)
	}
	if with != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.Caller.do(r)
	if err != nil {
		return out, fmt.Errorf("the process at %s does not answer; if it has ended, run the command again: %w", c.URL, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return out, fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	if answer.StatusCode != http.StatusOK {
		p := newProblem(answer.StatusCode, "no reason given")
		if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/problem+json") {
			if err := json.Unmarshal(text, p); err != nil {
				return out, fmt.Errorf("read the answer of %s: %w", c.URL, err)
			}
		}
		return out, p
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	return out, nil
}
