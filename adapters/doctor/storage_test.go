package doctor_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/doctor"
	"github.com/sluice-data/sluice/adapters/lake"
)

// examined are the findings of some checks, by the name of the check.
func examined(t *testing.T, checks ...doctor.Check) map[string]doctor.Finding {
	t.Helper()
	out := map[string]doctor.Finding{}
	failures, counted := 0, 0
	counted = doctor.Examine(t.Context(), checks, func(f doctor.Finding) {
		if f.Verdict == doctor.Failed {
			failures++
		}
		if f.Verdict != doctor.OK && f.Hint == "" {
			t.Errorf("%s is %s and says not what to do: %s", f.Check, f.Verdict, f.Said)
		}
		out[f.Check] = f
	})
	if failures != counted {
		t.Errorf("%d failures counted, %d found", counted, failures)
	}
	return out
}

func want(t *testing.T, found map[string]doctor.Finding, check string, verdict doctor.Verdict, words string) {
	t.Helper()
	if f := found[check]; f.Verdict != verdict || !strings.Contains(f.Said, words) {
		t.Errorf("%s: got %+v, expected %s with %q", check, f, verdict, words)
	}
}

// wantEmpty is a lake on which nothing was left behind.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func openLocal(t *testing.T, dir string) *lake.Local {
	t.Helper()
	l, err := lake.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestASoundLakePassesAndKeepsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	found := examined(t, doctor.Opened(nil), doctor.Lake(openLocal(t, dir)))
	for _, check := range []string{"lake", "put-if-absent", "read-after-write", "list-after-write", "lake-clock"} {
		want(t, found, check, doctor.OK, "")
	}
	wantEmpty(t, dir)
}

// faulty is a lake with one of its operations made worse.
type faulty struct {
	*lake.Local
	mu     sync.Mutex
	bodies map[string][]byte // what stale reads show
	absent map[string]bool   // what was asked for before it was there

	overwrites, denies, stale, remembers, undead, late, shuffled bool
	behind                                                       time.Duration
}

func (f *faulty) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	if f.denies {
		return fmt.Errorf("put %s: %w", key, lake.ErrDenied)
	}
	if !f.overwrites {
		return f.Local.PutIfAbsent(ctx, key, body)
	}
	all, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return f.Put(ctx, key, all)
}

func (f *faulty) Get(ctx context.Context, key string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.remembers && f.absent[key] {
		return nil, lake.ErrNotExist
	}
	body, err := f.Local.Get(ctx, key)
	if old, ok := f.bodies[key]; ok && f.stale {
		return old, nil
	}
	f.bodies[key] = body
	return body, err
}

func (f *faulty) Head(ctx context.Context, key string) (lake.Info, error) {
	info, err := f.Local.Head(ctx, key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.absent[key] = err != nil
	info.ModTime = info.ModTime.Add(-f.behind)
	return info, err
}

func (f *faulty) Delete(ctx context.Context, key string) error {
	if f.undead && strings.Contains(key, "/read-") {
		return nil
	}
	return f.Local.Delete(ctx, key)
}

// Listed is a listing in the store's own order.
func (f *faulty) Listed(ctx context.Context, folder string) ([]string, error) {
	infos, err := f.List(ctx, folder)
	var keys []string
	for _, info := range infos {
		if !f.late || time.Since(info.ModTime) > time.Minute {
			keys = append(keys, info.Key)
		}
	}
	if f.shuffled {
		slices.Reverse(keys)
	}
	return keys, err
}

func TestEachFaultOfALakeIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil   func(*faulty)
		check   string
		verdict doctor.Verdict
		words   string
	}{
		"put-if-absent overwrites":              {func(f *faulty) { f.overwrites = true }, "put-if-absent", doctor.Failed, "second put"},
		"writing is denied":                     {func(f *faulty) { f.denies = true }, "put-if-absent", doctor.Failed, "denies"},
		"reads are stale":                       {func(f *faulty) { f.stale = true }, "read-after-write", doctor.Failed, "older object"},
		"absence is remembered":                 {func(f *faulty) { f.remembers = true }, "read-after-write", doctor.Failed, "can't be read"},
		"what was deleted stays":                {func(f *faulty) { f.undead = true }, "read-after-write", doctor.Failed, "still there"},
		"listings are late":                     {func(f *faulty) { f.late = true }, "list-after-write", doctor.Failed, "not listed"},
		"listings have another order":           {func(f *faulty) { f.shuffled = true }, "list-after-write", doctor.Failed, "expected"},
		"its clock is an hour behind":           {func(f *faulty) { f.behind = time.Hour }, "lake-clock", doctor.Failed, "behind"},
		"its clock is a minute behind":          {func(f *faulty) { f.behind = time.Minute }, "lake-clock", doctor.Warning, "behind"},
		"its clock is a quarter of a day ahead": {func(f *faulty) { f.behind = -6 * time.Hour }, "lake-clock", doctor.Failed, "ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &faulty{Local: openLocal(t, t.TempDir()), bodies: map[string][]byte{}, absent: map[string]bool{}}
			c.spoil(l)
			found := examined(t, doctor.Lake(l))
			want(t, found, c.check, c.verdict, c.words)
			for _, f := range found {
				if f.Check != c.check && f.Verdict != doctor.OK {
					t.Errorf("it is found by another check too: %+v", f)
				}
			}
			if !l.undead {
				wantEmpty(t, l.Dir())
			}
		})
	}
}

func TestALakeThatCannotBeOpenedIsAFinding(t *testing.T) {
	t.Parallel()
	_, err := lake.OpenLocal(t.TempDir() + "/none")
	want(t, examined(t, doctor.Opened(err)), "lake", doctor.Failed, "does not exist")
}
