// Command benchmerge measures an owned merge through the gate against the loop that people write by hand:
// plain pylance, straight on the directory, one commit a generation. `make bench-merge` runs it.
//
// Both merge the same 64 generations of 1,000 rows into 500,000 rows of 64 floats, in turn (A B A B …), each
// on a fresh copy of one lake; afterwards both bases are compared row by row. Sluice's time is that from the
// demand to the release, with a warm engine; the loop's is that from the opened table to its last commit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/adapters/embedded"
	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/stock"
	"github.com/sluice-data/sluice/core"
)

// The targets of the figures.
const (
	wantRatio  = 4.0
	wantMemory = 100 << 20
)

func main() {
	runs := flag.Int("runs", 5, "runs of each side")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench-merge:", err)
		os.Exit(1)
	}
}

// target is the table that both sides merge.
const target core.Target = "bench"

func bench(ctx context.Context, runs int) (err error) {
	python, err := engine.FindPython(ctx, "")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clients, err := stock.Start(ctx, python)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clients.Close()) }()
	fmt.Println("setting up: 500,000 rows of 64 floats, 64 generations of 1,000 rows")
	origin := filepath.Join(dir, "origin")
	if err := clients.BenchSetup(ctx, tableIn(origin), 0, 0, 0); err != nil {
		return err
	}
	var sluice, loop []time.Duration
	for i := range runs {
		a, err := copyLake(ctx, origin, filepath.Join(dir, fmt.Sprintf("sluice-%d", i)))
		if err != nil {
			return err
		}
		b, err := copyLake(ctx, origin, filepath.Join(dir, fmt.Sprintf("loop-%d", i)))
		if err != nil {
			return err
		}
		took, err := merge(ctx, python, a)
		if err != nil {
			return err
		}
		by, err := clients.BenchLoop(ctx, tableIn(b))
		if err != nil {
			return err
		}
		sluice, loop = append(sluice, took), append(loop, by)
		c, err := clients.Compare(ctx, stock.BaseOf(tableIn(a)), stock.BaseOf(tableIn(b)))
		if err != nil {
			return err
		}
		if !c.Equal {
			return fmt.Errorf("the bases differ after run %d: %s", i+1, c)
		}
		fmt.Printf("run %d: sluice %.3f s, loop %.3f s, ratio %.1f; %s\n", i+1, took.Seconds(), by.Seconds(), by.Seconds()/took.Seconds(), c)
		if err := errors.Join(os.RemoveAll(a), os.RemoveAll(b)); err != nil {
			return err
		}
	}
	return report(sluice, loop)
}

func report(sluice, loop []time.Duration) error {
	memory, err := peakMemory()
	if err != nil {
		return err
	}
	ratio := median(loop).Seconds() / median(sluice).Seconds()
	fmt.Printf("median: sluice %.3f s, loop %.3f s: %.1f times as fast (wanted: %.0f)\n", median(sluice).Seconds(), median(loop).Seconds(), ratio, wantRatio)
	fmt.Printf("peak memory of the Go process: %d MB (wanted: under %d MB)\n", memory>>20, wantMemory>>20)
	if ratio < wantRatio || memory >= wantMemory {
		return errors.New("a figure is not what it must be")
	}
	return nil
}

// merge runs one owned merge in a process of our own kind, with a warm engine.
func merge(ctx context.Context, python, dir string) (took time.Duration, err error) {
	n, err := embedded.Open(ctx, embedded.Config{
		Lake: dir, Python: python, Owned: []core.Target{target}, Limits: core.Limits{Poll: time.Hour},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := n.Engine.Warm(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	after, err := n.Request(ctx, target)
	if err != nil {
		return 0, err
	}
	h, err := n.Await(ctx, target, after)
	if err != nil {
		return 0, err
	}
	took = time.Since(began)
	if !h.Merged {
		return 0, fmt.Errorf("merge of %s: %w", target, h.Failure)
	}
	return took, nil
}

func tableIn(dir string) stock.Table { return stock.Table{URI: filepath.Join(dir, target.Path())} }

func copyLake(ctx context.Context, from, to string) (string, error) {
	if out, err := exec.CommandContext(ctx, "cp", "-r", from, to).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy the lake: %w: %s", err, out)
	}
	return to, nil
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

// peakMemory is the most that this process ever had resident, in bytes.
func peakMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10, nil
		}
	}
	return 0, errors.New("no VmHWM in /proc/self/status")
}
