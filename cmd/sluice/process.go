package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/rest"
)

// processKey is the object in a lake that names the process that serves it. It is only a hint: what it names
// must answer, and with the KV's id, before anybody believes it.
const processKey = "_sluice/process.json"

// process is the content of [processKey].
type process struct {
	PID  int    `json:"pid"`
	HTTP string `json:"http"`
	KV   string `json:"kv"`
}

// announce writes the file, over one that a dead process has left. done removes it again.
func announce(ctx context.Context, l lake.Lake, url, kv string) (done func(), err error) {
	p := process{PID: os.Getpid(), HTTP: url, KV: kv}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("announce this process in the lake: %w", err)
	}
	if err := l.Put(ctx, processKey, append(body, '\n')); err != nil {
		return nil, fmt.Errorf("announce this process in the lake: %w", err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if found, err := announced(ctx, l); err == nil && found == p {
			_ = l.Delete(ctx, processKey) // one that stays names nobody who answers
		}
	}, nil
}

func announced(ctx context.Context, l lake.Lake) (p process, err error) {
	body, err := l.Get(ctx, processKey)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(body, &p)
}

// serving finds the living process that serves the lake. No answer, or another KV's, means that there is
// none: then this process may open the state file, whose lock decides.
func serving(ctx context.Context, l lake.Lake) (api rest.Client, ok bool, err error) {
	kv, err := lake.ClaimedBy(ctx, l)
	if errors.Is(err, lake.ErrNotExist) {
		return api, false, nil
	}
	if err != nil {
		return api, false, err
	}
	p, err := announced(ctx, l)
	if err != nil || p.KV != kv || rest.CheckURL(p.HTTP) != nil {
		return api, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	api = rest.Client{URL: p.HTTP}
	health, err := api.Health(ctx)
	return api, err == nil && health.KV == kv, nil
}
