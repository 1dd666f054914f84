package lake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/guard"
)

// ErrUnsafe says that the lake does not keep put-if-absent, so no commit can be fenced on it.
var ErrUnsafe = errors.New("the lake does not keep put-if-absent")

// racers is how many puts of one name begin at the same moment.
const racers = 16

// Probe proves that put-if-absent works on this lake: of two puts of one name, one after the other, the second
// loses, and the first body stays; of many that begin at the same moment exactly one wins, which a store that
// looks first and writes then doesn't keep; and what was put is listed. It cleans up after itself. A lake that
// fails ([ErrUnsafe]) must not be used: two commits of one version could both land on it.
func Probe(ctx context.Context, l Lake) error {
	folder := "_sluice/"
	tries := []func(context.Context, Lake, string) error{inTurn, atOnce}
	if guard.Out(guard.LakeProbesAtOnce) {
		tries = tries[:1]
	}
	for _, try := range tries {
		key := folder + "probe-" + rand.Text()
		err := try(ctx, l, key)
		// The caller may have given up; the object must go all the same.
		if gone := l.Delete(context.WithoutCancel(ctx), key); err == nil && gone != nil {
			err = fmt.Errorf("clean up: %w", gone)
		}
		if err != nil {
			return fmt.Errorf("probe lake %s: %w", l.URI(), err)
		}
	}
	return nil
}

// inTurn puts a name twice.
func inTurn(ctx context.Context, l Lake, key string) error {
	if err := l.PutIfAbsent(ctx, key, strings.NewReader("first")); err != nil {
		return err
	}
	switch err := l.PutIfAbsent(ctx, key, strings.NewReader("second")); {
	case err == nil:
		return fmt.Errorf("a second put of one name succeeded: %w", ErrUnsafe)
	case !errors.Is(err, ErrExists):
		return fmt.Errorf("put a name twice: %w", err)
	}
	body, err := l.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if string(body) != "first" {
		return fmt.Errorf("a put that lost changed the object: %w", ErrUnsafe)
	}
	level, err := l.Children(ctx, path.Dir(key)+"/")
	if err != nil {
		return err
	}
	if !slices.Contains(level.Objects, path.Base(key)) {
		return fmt.Errorf("an object that was just put is not listed: %w", ErrUnsafe)
	}
	return nil
}

// atOnce puts a name many times at the same moment. A put without a clear answer may be the one that landed:
// S3 says "conflict" to some of those that meet.
func atOnce(ctx context.Context, l Lake, key string) error {
	answers := make([]error, racers)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			<-begin
			answers[i] = l.PutIfAbsent(ctx, key, strings.NewReader(strconv.Itoa(i)))
		})
	}
	close(begin)
	all.Wait()
	var winners []string
	for i, err := range answers {
		if err == nil {
			winners = append(winners, strconv.Itoa(i))
		}
	}
	if len(winners) > 1 {
		return fmt.Errorf("%d of %d puts of one name at the same moment succeeded: %w", len(winners), racers, ErrUnsafe)
	}
	body, err := l.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read back after %d puts at the same moment: %w", racers, errors.Join(err, answers[0]))
	}
	landed, err := strconv.Atoi(string(body))
	if err != nil || landed < 0 || landed >= racers {
		return fmt.Errorf("%d puts of one name at the same moment left %q, which none of them had: %w", racers, body, ErrUnsafe)
	}
	if errors.Is(answers[landed], ErrExists) || len(winners) == 1 && winners[0] != string(body) {
		return fmt.Errorf("a put that lost against others at the same moment changed the object: %w", ErrUnsafe)
	}
	return nil
}
