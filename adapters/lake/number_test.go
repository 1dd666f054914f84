package lake_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

const events core.Target = "db/events"

func TestANumberBelongsToOneExecution(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	for range 2 { // an answer that was lost is asked for again
		if err := lake.PutNumber(t.Context(), l, events, 7, "x"); err != nil {
			t.Fatal(err)
		}
	}
	err := lake.PutNumber(t.Context(), l, events, 7, "y")
	var taken *lake.TakenError
	if !errors.As(err, &taken) || taken.By != "x" {
		t.Errorf("the number was given twice: %v, want a refusal that names x", err)
	}
	if err := lake.PutNumber(t.Context(), l, "db", 7, "y"); err != nil {
		t.Errorf("another target's number: %v", err)
	}
}

func TestNumbersAreListedInTheirOrder(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	want := []core.Number{{N: 2, Execution: "b"}, {N: 10, Execution: "c"}, {N: 100, Execution: "d"}}
	for _, n := range want {
		if err := lake.PutNumber(t.Context(), l, events, n.N, n.Execution); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, l, "_sluice/x/db%2Fevents/README", "not a number")
	got, err := lake.ListNumbers(t.Context(), l, events)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("listed %v (%v), want %v", got, err, want)
	}
	if got, err := lake.ListNumbers(t.Context(), l, "db"); err != nil || len(got) != 0 {
		t.Errorf("listed %v (%v) of a target that has none", got, err)
	}
}

// unlistable is a lake whose folders can't be read.
type unlistable struct{ lake.Lake }

func (unlistable) Children(context.Context, string) (lake.Children, error) {
	return lake.Children{}, errors.New("input/output error")
}

func TestAFolderOfNumbersThatCannotBeReadIsNotEmpty(t *testing.T) {
	t.Parallel()
	if got, err := lake.ListNumbers(t.Context(), unlistable{open(t, t.TempDir())}, events); err == nil {
		t.Errorf("listed %v, want an error", got)
	}
}

func TestPruningKeepsTheLastThreeAndWhatIsYoung(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	now := time.UnixMilli(1_800_000_000_000)
	for n := uint64(1); n <= 6; n++ {
		if err := lake.PutNumber(t.Context(), l, events, n, "x"); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-48 * time.Hour)
		if n == 2 {
			at = now.Add(-23 * time.Hour)
		}
		file := filepath.Join(l.Dir(), "_sluice", "x", "db%2Fevents", string('0'+rune(n)))
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := lake.PruneNumbers(t.Context(), l, events, core.WallMillis(now.UnixMilli())); err != nil {
		t.Fatal(err)
	}
	got, err := lake.ListNumbers(t.Context(), l, events)
	var left []uint64
	for _, n := range got {
		left = append(left, n.N)
	}
	if want := []uint64{2, 4, 5, 6}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left %v (%v), want %v", left, err, want)
	}
}
