package kvtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/core"
)

// testLinearizable lets several clients commit and read at once and asks whether some order of all calls,
// each somewhere between its start and its answer, explains every answer. A transaction of unknown
// outcome may have been applied at any time after its start, or never.
func testLinearizable(t *testing.T, h Harness) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			s := h.open(t)
			start := s.read().Revision
			watch := s.Watch(t.Context(), all, start)
			history := record(t, s, seed)

			// One more read after everything, so that an acknowledged write that is gone shows.
			last := s.read(all)
			history = append(history, porcupine.Operation{
				ClientId: clients, Input: call{read: []core.Range{all}}, Output: reply{snapshot: last},
				Call: math.MaxInt64 - 1, Return: math.MaxInt64,
			})
			model := model(start)
			switch result, info := porcupine.CheckOperationsVerbose(model.ToModel(), history, patience); result {
			case porcupine.Illegal:
				t.Errorf("no order of the calls explains the answers: %d of %d calls explained; run again with -run '%s'",
					longest(info), len(history), t.Name())
			case porcupine.Unknown:
				t.Errorf("the check did not end in %v; run again with -run '%s'", patience, t.Name())
			}
			m := newMirror(all, start)
			if len(last.Records) > 0 {
				m.follow(t, watch, slices.MaxFunc(last.Records, func(a, b core.Record) int { return int(a.Mod - b.Mod) }).Mod)
			}
		})
	}
}

const (
	clients        = 4
	callsPerClient = 25
)

// call is what a client asked: a transaction, or a read if there is none.
type call struct {
	txn  *core.Txn
	read []core.Range
}

// reply is what it was told.
type reply struct {
	answer   kv.Answer
	snapshot kv.Snapshot
}

// record runs the clients and returns their calls. Times are ticks of one counter: all that matters is
// which call had been answered before which other one began.
func record(t *testing.T, s store, seed uint64) []porcupine.Operation {
	var (
		clock   atomic.Int64
		mu      sync.Mutex
		history []porcupine.Operation
		group   sync.WaitGroup
	)
	for id := range clients {
		group.Go(func() {
			c := client{rand: rand.New(rand.NewPCG(seed, uint64(id)))}
			for range callsPerClient {
				op := porcupine.Operation{ClientId: id, Call: clock.Add(1)}
				in, out, err := c.call(t.Context(), s)
				op.Input, op.Output, op.Return = in, out, clock.Add(1)
				switch {
				case err != nil && in.txn == nil:
					continue // a read without an answer says nothing
				case err != nil && out.answer.Outcome != core.Unknown:
					t.Errorf("%v: got %v with error %v", in.txn, out.answer.Outcome, err)
				case err != nil:
					op.Return = math.MaxInt64 - 2 // it may still take effect, until the last read
				}
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return history
}

var errLost = errors.New("the answer got lost")

// client makes random calls from what it saw last.
type client struct {
	rand  *rand.Rand
	known kv.Snapshot
}

func (c *client) call(ctx context.Context, s store) (call, reply, error) {
	if c.rand.IntN(8) == 0 {
		// Some calls are given up before, while or after they take effect.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.rand.IntN(1000))*time.Microsecond)
		defer cancel()
	}
	if c.rand.IntN(3) == 0 {
		in := call{read: []core.Range{all}}
		snapshot, err := s.Read(ctx, in.read...)
		if err == nil {
			c.known = snapshot
		}
		return in, reply{snapshot: snapshot}, err
	}
	in := call{txn: &core.Txn{Name: "random", Then: c.ops()}}
	for range 1 + c.rand.IntN(2) {
		in.txn.If = append(in.txn.If, c.cond())
	}
	answer, err := s.Commit(ctx, *in.txn)
	if err == nil && c.rand.IntN(8) == 0 {
		return in, reply{}, errLost // applied or not, nobody is told
	}
	return in, reply{answer: answer}, err
}

func (c *client) key() string { return keys[c.rand.IntN(3)] }

func (c *client) cond() core.Cond {
	key := c.key()
	var seen core.Record
	for _, r := range c.known.Records {
		if r.Key == key {
			seen = r
		}
	}
	switch c.rand.IntN(4) {
	case 0:
		return core.Holds(key, seen.Value)
	case 1:
		return core.Absent(key)
	case 2:
		return core.Unchanged(key, seen.Mod)
	}
	return core.RangeUnchanged(core.Range{Key: key, End: "k/d"}, c.known.Revision)
}

func (c *client) ops() []core.Op {
	key, value := c.key(), fmt.Sprint(c.rand.IntN(4))
	switch c.rand.IntN(6) {
	case 0:
		return []core.Op{core.Delete(key)}
	case 1:
		return []core.Op{core.DeleteAll(core.Range{Key: key, End: "k/d"})}
	case 2:
		return []core.Op{core.Put("k/c", value), core.Delete(key)}
	}
	return []core.Op{core.Put(key, value)}
}

// model is the reference as porcupine wants it: from one state, the states that a call with that answer
// may leave.
func model(start core.Revision) porcupine.NondeterministicModel {
	return porcupine.NondeterministicModel{
		Init: func() []any { return []any{newReference(start)} },
		Step: func(state, input, output any) []any {
			r, in, out := state.(reference), input.(call), output.(reply)
			if in.txn == nil {
				if out.snapshot.Revision == r.revision && slices.Equal(out.snapshot.Records, r.read(in.read...)) {
					return []any{r}
				}
				return nil
			}
			next, answer := r.commit(*in.txn)
			switch {
			case out.answer.Outcome == core.Unknown:
				return []any{r, next}
			case out.answer == answer:
				return []any{next}
			}
			return nil
		},
		Equal: func(a, b any) bool { return a.(reference).equal(b.(reference)) },
	}
}

// longest is the length of the longest partial order of calls that explains their answers.
func longest(info porcupine.LinearizationInfo) int {
	n := 0
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			n = max(n, len(order))
		}
	}
	return n
}
