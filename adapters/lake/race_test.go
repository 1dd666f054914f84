package lake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

func TestOneOfManyPutsOfANameWins(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	for round := range 40 {
		const racers = 32
		key := fmt.Sprintf("t.lance/_versions/%d.manifest", round)
		results := make(chan string, racers)
		start := make(chan struct{})
		for i := range racers {
			go func() {
				<-start
				body := fmt.Sprintf("body of %d", i)
				switch err := l.PutIfAbsent(t.Context(), key, strings.NewReader(body)); {
				case err == nil:
					results <- body
				case errors.Is(err, lake.ErrExists):
					results <- ""
				default:
					results <- err.Error()
				}
			}()
		}
		close(start)
		var winners []string
		for range racers {
			if r := <-results; r != "" {
				winners = append(winners, r)
			}
		}
		if len(winners) != 1 {
			t.Fatalf("round %d: %d puts won: %v", round, len(winners), winners)
		}
		wantBody(t, l, key, winners[0])
	}
	if left, _ := filepath.Glob(filepath.Join(l.Dir(), "t.lance", "_versions", ".*")); len(left) != 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

const (
	raced core.Target = "raced"
	// The table as it is made: its rows, then its MemWAL index. 200 contested names follow.
	madeVersion  core.Version = 2
	raceVersions              = madeVersion + 200

	racingThreads  = 32 // in this process
	racingChildren = 4
	racingPerChild = 2 // threads of each
	pylanceThreads = 4
)

// won is what a racer put: version → the mark of its own that the manifest carries.
type won map[core.Version]string

// race puts successors of the newest version until the table has had its 200 races.
func race(ctx context.Context, l lake.Lake, name string) (won, error) {
	wins := won{}
	for try := 0; ; try++ {
		prev, err := lance.ReadNewestBase(ctx, l, raced)
		if err != nil {
			return nil, err
		}
		if prev.Facts.Version >= raceVersions {
			return wins, nil
		}
		mark := fmt.Sprintf("%s-%d", name, try)
		body, err := prev.Successor(lance.Entry{Key: core.FenceKey, Value: mark}, mark, 0)
		if err != nil {
			return nil, err
		}
		next := prev.Facts.Version + 1
		err = l.PutIfAbsent(ctx, lance.BaseKey(raced, prev.Facts.Scheme, next), strings.NewReader(string(body)))
		switch {
		case err == nil:
			wins[next] = mark
		case !errors.Is(err, lake.ErrExists):
			return nil, err
		}
	}
}

// raceAll runs several racers at once and joins what they won. A version that two have won is an error.
func raceAll(ctx context.Context, l lake.Lake, name string, racers int) (won, error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	all, failed := won{}, error(nil)
	for i := range racers {
		group.Go(func() {
			wins, err := race(ctx, l, fmt.Sprintf("%s-%d", name, i))
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err, all.add(wins))
		})
	}
	group.Wait()
	return all, failed
}

func (w won) add(o won) error {
	for v, mark := range o {
		if other, twice := w[v]; twice {
			return fmt.Errorf("version %d was won by %s and by %s", v, other, mark)
		}
		w[v] = mark
	}
	return nil
}

// runRacer is one process of the race; it prints what it won.
func runRacer(dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := lake.OpenLocal(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	wins, err := raceAll(ctx, l, fmt.Sprintf("process-%d", os.Getpid()), racingPerChild)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(wins)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestNoVersionIsOverwrittenWhileProcessesAndPylanceRace has 32 goroutines, 4 more processes and a pylance
// that appends, all straight on one real table's _versions directory.
func TestNoVersionIsOverwrittenWhileProcessesAndPylanceRace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := open(t, t.TempDir())
	python, err := engine.FindPython(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := stock.Start(ctx, python)
	if err != nil {
		t.Fatal(err)
	}
	defer clients.Close()
	table := stock.Table{URI: filepath.Join(l.Dir(), raced.Path())}
	if err := clients.CreateSharded(ctx, table, stock.Rows{To: 1}, ""); err != nil {
		t.Fatal(err)
	}

	var group sync.WaitGroup
	wins := make(chan won, 1+racingChildren)
	failures := make(chan error, 1+racingChildren)
	put := func(w won, err error) { wins <- w; failures <- err }
	group.Go(func() { put(raceAll(ctx, l, "test", racingThreads)) })
	for range racingChildren {
		group.Go(func() { put(raceInProcess(ctx, l.Dir())) })
	}
	appends := make(chan map[core.Version]bool, pylanceThreads)
	for i := range pylanceThreads {
		group.Go(func() { appends <- appendUntilDone(ctx, t, clients, table, l, 1000*(i+1)) })
	}
	group.Wait()

	appended := map[core.Version]bool{}
	for range pylanceThreads {
		maps.Copy(appended, <-appends)
	}
	all := won{}
	for range 1 + racingChildren {
		if err := errors.Join(<-failures, all.add(<-wins)); err != nil {
			t.Fatal(err)
		}
	}
	checkRace(t, l, all, appended)
	seen, err := clients.Compare(ctx, stock.BaseOf(table), stock.BaseOf(table))
	if err != nil || seen.LeftRows != 1+len(appended) {
		t.Errorf("pylance sees %d rows (%v), want the first and one for each of its %d commits", seen.LeftRows, err, len(appended))
	}
}

// raceInProcess runs this test binary as one more racer.
func raceInProcess(ctx context.Context, dir string) (won, error) {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), racerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var w won
	return w, json.Unmarshal(out, &w)
}

// appendUntilDone has pylance append a row at a time, from first on, until the race is over, and returns the
// versions that it says it made. Losing too often in a row is not an error of pylance here.
func appendUntilDone(ctx context.Context, t *testing.T, clients *stock.Clients, table stock.Table, l lake.Lake, first int) map[core.Version]bool {
	t.Helper()
	made := map[core.Version]bool{}
	for row := first; ctx.Err() == nil; row++ {
		newest, _, err := lance.LatestBase(ctx, l, raced)
		if err != nil {
			t.Error(err)
		}
		if err != nil || newest >= raceVersions {
			break
		}
		var raised *stock.Error
		switch v, err := clients.Append(ctx, table, stock.Rows{From: row, To: row + 1}); {
		case err == nil:
			made[core.Version(v)] = true
		case !errors.As(err, &raised):
			t.Error(err)
			return made
		}
	}
	return made
}

// checkRace reads every version: it is what its one winner put.
func checkRace(t *testing.T, l lake.Lake, all won, appended map[core.Version]bool) {
	t.Helper()
	newest, scheme, err := lance.LatestBase(t.Context(), l, raced)
	if err != nil {
		t.Fatal(err)
	}
	byPylance := 0
	for v := madeVersion + 1; v <= newest; v++ {
		b, err := lance.ReadBase(t.Context(), l, raced, scheme, v)
		if err != nil {
			t.Fatal(err)
		}
		mark, ours := all[v]
		switch {
		case ours && b.UUID != mark:
			t.Errorf("version %d was won by %s and is of transaction %s", v, mark, b.UUID)
		case !ours && b.Facts.Operation != core.OpAppend:
			t.Errorf("version %d was won by nobody and is a %s of transaction %s", v, b.Facts.Operation, b.UUID)
		case ours && appended[v]:
			t.Errorf("version %d was won by %s and by pylance", v, mark)
		case !ours:
			byPylance++
		}
	}
	if byPylance != len(appended) || byPylance == 0 {
		t.Errorf("pylance says that it made %d versions, %d are there; want the same and more than none", len(appended), byPylance)
	}
	t.Logf("%d versions: %d by put-if-absent, %d by pylance", newest, len(all), byPylance)
}
