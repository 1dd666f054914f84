package lake_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
)

func TestAHeldPutReachesStorageAfterItsCallerGaveUp(t *testing.T) {
	t.Parallel()
	inner := open(t, t.TempDir())
	h := lake.NewHold(inner, func(key string) bool { return key == "held" })
	publish(t, h, "free", "passes")

	for _, c := range []struct {
		name    string
		between func()
		want    error
		body    string
	}{
		{"it lands when its place is free", func() {}, nil, "late"},
		{"it is refused when its place is taken", func() { publish(t, inner, "held", "fence") }, lake.ErrExists, "fence"},
	} {
		if err := inner.Delete(t.Context(), "held"); err != nil {
			t.Fatal(err)
		}
		ctx, giveUp := context.WithCancel(t.Context())
		answer := make(chan error)
		go func() { answer <- h.PutIfAbsent(ctx, "held", strings.NewReader("late")) }()
		put, err := h.Next(t.Context())
		if err != nil || put.Key != "held" {
			t.Fatalf("held %+v (%v)", put, err)
		}
		giveUp()
		if err := <-answer; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the caller got %v, want its own giving up", c.name, err)
		}
		c.between()
		if err := put.Release(); !errors.Is(err, c.want) {
			t.Errorf("%s: storage answered %v, want %v", c.name, err, c.want)
		}
		wantBody(t, inner, "held", c.body)
	}
}

func TestACallerThatWaitsGetsTheAnswerOfStorage(t *testing.T) {
	t.Parallel()
	h := lake.NewHold(open(t, t.TempDir()), func(string) bool { return true })
	for _, want := range []error{nil, lake.ErrExists} {
		answer := make(chan error)
		go func() { answer <- h.PutIfAbsent(t.Context(), "a", strings.NewReader("x")) }()
		put, err := h.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		released := put.Release()
		if got := <-answer; !errors.Is(got, want) || !errors.Is(released, want) {
			t.Errorf("caller got %v, observer %v, want %v", got, released, want)
		}
	}
}
