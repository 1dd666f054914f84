// Package laketest says what a store must keep so that a chain of versions can stand on it: one put of a name
// wins, and what it put never changes. The lakes pass it, and so does the table of the simulator, so that what is
// proved with the one holds for the others.
package laketest

import (
	"math/rand/v2"
	"testing"
)

// Chain is a chain of versions in a store.
type Chain struct {
	// Put publishes a version if it is absent; won is false if it is there already. The first version is 1, and
	// nobody leaves a gap.
	Put func(t *testing.T, version int, body string) (won bool)
	// Get reads a version; ok is false if it is absent.
	Get func(t *testing.T, version int) (body string, ok bool)
	// Latest is the newest version; 0 if there is none.
	Latest func(t *testing.T) int
}

// Versions is how many versions the suite puts into one chain at most.
const Versions = 7

// Run holds a store to its contract; open makes an empty chain.
func Run(t *testing.T, open func(*testing.T) Chain) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Chain)
	}{
		{"an empty chain has no version", func(t *testing.T, c Chain) {
			if n := c.Latest(t); n != 0 {
				t.Errorf("the latest version is %d", n)
			}
			wantAbsent(t, c, 1)
		}},
		{"a version is absent until it is put, and then as it was put", func(t *testing.T, c Chain) {
			wantPut(t, c, 1, "first", true)
			wantBody(t, c, 1, "first")
			wantAbsent(t, c, 2)
		}},
		{"a second put of a version is refused and changes nothing", func(t *testing.T, c Chain) {
			wantPut(t, c, 1, "first", true)
			wantPut(t, c, 1, "second", false)
			wantBody(t, c, 1, "first")
		}},
		{"the same body is refused too: nobody can tell whose it is", func(t *testing.T, c Chain) {
			wantPut(t, c, 1, "same", true)
			wantPut(t, c, 1, "same", false)
			wantBody(t, c, 1, "same")
		}},
		{"a late put of an older version is refused and moves nothing", func(t *testing.T, c Chain) {
			wantPut(t, c, 1, "first", true)
			wantPut(t, c, 2, "second", true)
			wantPut(t, c, 1, "late", false)
			wantBody(t, c, 1, "first")
			if n := c.Latest(t); n != 2 {
				t.Errorf("the latest version is %d after a late put of 1, and 2 was there", n)
			}
		}},
		{"any puts leave what a map of the first ones holds", anyPuts},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// anyPuts puts versions at random, new and old, and compares with a map.
func anyPuts(t *testing.T, c Chain) {
	const seed = 7
	r, reference := rand.New(rand.NewPCG(seed, seed)), map[int]string{}
	bodies := []string{"a", "b", "c"}
	for range 60 {
		version := 1 + r.IntN(min(len(reference)+1, Versions))
		body := bodies[r.IntN(len(bodies))]
		_, taken := reference[version]
		wantPut(t, c, version, body, !taken)
		if !taken {
			reference[version] = body
		}
		if n := c.Latest(t); n != len(reference) {
			t.Fatalf("the latest version is %d, and %d have been put", n, len(reference))
		}
		for v, want := range reference {
			wantBody(t, c, v, want)
		}
	}
}

func wantPut(t *testing.T, c Chain, version int, body string, won bool) {
	t.Helper()
	if got := c.Put(t, version, body); got != won {
		t.Fatalf("put version %d %q: won is %v, want %v", version, body, got, won)
	}
}

func wantBody(t *testing.T, c Chain, version int, want string) {
	t.Helper()
	if body, ok := c.Get(t, version); !ok || body != want {
		t.Fatalf("version %d is %q (there: %v), want %q", version, body, ok, want)
	}
}

func wantAbsent(t *testing.T, c Chain, version int) {
	t.Helper()
	if body, ok := c.Get(t, version); ok {
		t.Fatalf("version %d is there, as %q", version, body)
	}
}
