package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// Executions of a table are numbered, and the lake keeps the last numbers with their executions: that memory
// is what tells a KV that was restored, deleted or copied that it has lost or doubled history.

// What pruning leaves, whatever its age, and for how long it leaves the rest.
const (
	keptNumbers   = 3
	keptNumberAge = 24 * time.Hour
)

// TakenError says that another execution has the number: history is doubled.
type TakenError struct {
	Target core.Target
	Number uint64
	By     core.ExecutionID
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("execution number %d of %s is taken by execution %s", e.Number, e.Target, e.By)
}

func numberFolder(t core.Target) string { return "_sluice/x/" + t.Segment() + "/" }

func numberKey(t core.Target, n uint64) string { return numberFolder(t) + strconv.FormatUint(n, 10) }

// PutNumber writes down that the number belongs to the execution, before the execution's first admission.
// Saying the same again is fine; a number of another execution is a [*TakenError]. Any other error leaves
// it unknown, and the call may be repeated.
func PutNumber(ctx context.Context, l Lake, t core.Target, n uint64, x core.ExecutionID) error {
	err := l.PutIfAbsent(ctx, numberKey(t, n), strings.NewReader(string(x)))
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrExists) {
		return fmt.Errorf("number execution %s of %s: %w", x, t, err)
	}
	by, err := readNumber(ctx, l, t, n)
	if err != nil {
		return err
	}
	if by != x && !guard.Out(guard.NumberTaken) {
		return &TakenError{Target: t, Number: n, By: by}
	}
	return nil
}

// ListNumbers returns what the lake remembers of the table's executions, sorted by number. A folder that
// can't be read is an error, never an empty list: an empty list would mean that no history was lost.
func ListNumbers(ctx context.Context, l Lake, t core.Target) ([]core.Number, error) {
	level, err := l.Children(ctx, numberFolder(t))
	if err != nil {
		return nil, fmt.Errorf("list the executions of %s in the lake: %w", t, err)
	}
	var out []core.Number
	for _, name := range level.Objects {
		n, err := strconv.ParseUint(name, 10, 64)
		if err != nil || strconv.FormatUint(n, 10) != name {
			continue // not ours
		}
		x, err := readNumber(ctx, l, t, n)
		if errors.Is(err, ErrNotExist) {
			continue // pruned since the folder was read, so not among the last
		}
		if err != nil {
			return nil, err
		}
		out = append(out, core.Number{N: n, Execution: x})
	}
	slices.SortFunc(out, func(a, b core.Number) int { return cmp.Compare(a.N, b.N) })
	return out, nil
}

// PruneNumbers removes what is older than 24 h at the given moment, but never the last three numbers. now
// is the caller's wall clock; a clock that is ahead removes early what only the last three are needed for.
func PruneNumbers(ctx context.Context, l Lake, t core.Target, now core.WallMillis) error {
	numbers, err := ListNumbers(ctx, l, t)
	if err != nil {
		return err
	}
	for _, n := range numbers[:max(0, len(numbers)-keptNumbers)] {
		key := numberKey(t, n.N)
		info, err := l.Head(ctx, key)
		if errors.Is(err, ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("prune the executions of %s: %w", t, err)
		}
		if time.UnixMilli(int64(now)).Sub(info.ModTime) < keptNumberAge {
			continue
		}
		if err := l.Delete(ctx, key); err != nil {
			return fmt.Errorf("prune the executions of %s: %w", t, err)
		}
	}
	return nil
}

func readNumber(ctx context.Context, l Lake, t core.Target, n uint64) (core.ExecutionID, error) {
	body, err := l.Get(ctx, numberKey(t, n))
	if err != nil {
		return "", fmt.Errorf("read execution number %d of %s: %w", n, t, err)
	}
	return core.ExecutionID(body), nil
}
