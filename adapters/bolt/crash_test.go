package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/core"
)

// childKey, in the environment, makes the test binary the child of a test: "ROLE PATH".
const childKey = "SLUICE_BOLT_TEST_CHILD"

func TestMain(m *testing.M) {
	if role, path, ok := strings.Cut(os.Getenv(childKey), " "); ok {
		if err := roles[role](path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// roles are what a child can be. Files for one system only add theirs.
var roles = map[string]func(path string) error{"count": countUp}

// countUp writes one number into two keys per transaction, and says each once it has been answered, until
// it is killed.
func countUp(path string) error {
	ctx := context.Background()
	s, err := bolt.Open(ctx, path)
	if err != nil {
		return err
	}
	snapshot, err := s.Read(ctx, core.Range{Key: "k/left"})
	if err != nil {
		return err
	}
	n := 0
	if len(snapshot.Records) > 0 {
		if n, err = strconv.Atoi(snapshot.Records[0].Value); err != nil {
			return err
		}
	}
	for {
		n++
		// The old value is compared, so that a step that was lost would show as one not applied.
		value := strconv.Itoa(n)
		txn := core.Txn{Then: []core.Op{core.Put("k/left", value), core.Put("k/right", value), core.PutLeased("k/worker", value)}}
		if n > 1 {
			txn.If = []core.Cond{core.Holds("k/left", strconv.Itoa(n-1))}
		}
		answer, err := s.Commit(ctx, txn)
		if err != nil || answer.Outcome != core.Applied {
			return fmt.Errorf("step %d: %v, %w", n, answer.Outcome, err)
		}
		fmt.Println(n, answer.Revision)
	}
}

func TestAKilledProcessLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	const seed = 11
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "state.db")
	for life := range 8 {
		n, rev := killAfter(t, path, 1+random.IntN(60))
		s := open(t, path)
		snapshot := read(t, s)
		if len(snapshot.Records) != 2 {
			t.Fatalf("life %d of seed %d: got %v, want two keys; the lease has ended", life, seed, snapshot.Records)
		}
		left, right := snapshot.Records[0], snapshot.Records[1]
		got, err := strconv.Atoi(left.Value)
		if err != nil {
			t.Fatal(err)
		}
		// One more step may have been committed without being answered.
		if left.Value != right.Value || left.Mod != right.Mod || got < n || got > n+1 {
			t.Errorf("life %d of seed %d: got %v, the last answer was %d", life, seed, snapshot.Records, n)
		}
		if snapshot.Revision <= rev || snapshot.Revision > rev+2 {
			t.Errorf("life %d of seed %d: got revision %d, the last answer was at %d, then the lease ended", life, seed, snapshot.Revision, rev)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter lets a child count up, kills it after some steps, and returns the last one it said.
func killAfter(t *testing.T, path string, steps int) (n int, rev core.Revision) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childKey+"=count "+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := 0
	for lines := bufio.NewScanner(out); lines.Scan(); said++ {
		if _, err := fmt.Sscan(lines.Text(), &n, &rev); err != nil {
			t.Fatalf("the child said %q: %v", lines.Text(), err)
		}
		if said == steps {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = child.Wait() // it was killed
	if said < steps {
		t.Fatalf("the child ended by itself after %d steps", said)
	}
	return n, rev
}
