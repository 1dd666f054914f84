package sim

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-data/sluice/core"
)

// How histories are judged. An object is linearizable if each operation can be given one point between its call and
// its return such that, in the order of these points, every answer is that of the model. To find such points is a
// search, and one that does not end where many requests were never answered: each may have taken effect anywhere.
//
// But the world knows the points, since it is the world that carries the operations out. So a window is first judged
// with every interval narrowed to its true point: an answered operation to the moment at which the object did it, one
// that was never answered and took effect likewise, and one that never got there is left out. Narrower intervals
// allow fewer orders, exactly one in fact, so whatever explains the narrow history explains the wide one that the
// clients saw, provided that each point lies between call and return and that each client was told what was done
// there. That is checked for each operation when it is answered ([history.answered]). This proof needs one step of the
// model for each operation and covers all of them.
//
// Where it fails, the true points explain nothing. Whether something else does is what the clients' own intervals say,
// so porcupine searches those, with the answers that they were given, and its verdict counts. That search may run out
// of its time, which is a result of its own.
//
// A window ends with a cut: a reader sees the whole state of the object at that moment, which is where the next window
// starts. The reader takes no time, so every linearization passes through what it saw, and a history is linearizable
// if its windows are. What had taken effect by a cut belongs to the window before it, since the reader has seen it.
// What is under way may take effect on either side of the cut; it is a part of both windows until it has.

// windowSize is how many operations one window has at most.
const windowSize = 128

// model says of an object which states may follow a state and an operation with its answer. output nil means that
// nobody was told: the operation takes effect here, whatever it does.
type model struct {
	step func(state, input, output any) (bool, any)
	same func(a, b any) bool
}

// reader is the input of the look that ends a window.
type reader struct{}

// ending is the state of a window, and whether the look at its end has been passed: an operation that was never
// answered may come after it, which is as if it never came.
type ending struct {
	state any
	over  bool
}

// from is the model as porcupine wants it, for a window that starts in a state.
func (m model) from(start any) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return ending{state: start} },
		Step: func(state, input, output any) (bool, any) {
			s := state.(ending)
			if _, last := input.(reader); last {
				return !s.over && m.same(s.state, output), ending{s.state, true}
			}
			if s.over {
				return output == nil, s
			}
			ok, next := m.step(s.state, input, output)
			return ok, ending{next, false}
		},
		Equal: func(a, b any) bool {
			x, y := a.(ending), b.(ending)
			return x.over == y.over && m.same(x.state, y.state)
		},
	}
}

// cut ends the window of an object with a look at the whole of it, and judges it.
func (h *history) cut(o *object) {
	seen := o.look()
	if seen == nil {
		return // the table has been dropped: the window goes on until there is something to see again
	}
	if porcupine.CheckOperations(o.model.from(o.start), o.narrow(seen)) {
		h.judged += len(o.done)
	} else {
		h.search(o, seen)
	}
	o.since, o.start, o.done = h.w.now, seen, o.done[:0]
	if o == h.kv {
		h.watch()
	}
}

// search looks for any order at all that explains what the clients saw of a window.
func (h *history) search(o *object, seen any) {
	switch porcupine.CheckOperationsTimeout(o.model.from(o.start), o.wide(seen, h.w.now), h.budget) {
	case porcupine.Illegal:
		h.w.checks.broke("the history of %s contradicts its model", o.name)
	case porcupine.Unknown:
		if h.undecided == "" {
			h.undecided = "the search for an order of the history did not end: " + o.name
		}
	case porcupine.Ok:
		h.judged += len(o.done)
	}
}

// narrow are the operations of a window at their true points, one after the other.
func (o *object) narrow(seen any) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, len(o.done)+1)
	add := func(input, output any) {
		at := int64(2 * len(ops))
		ops = append(ops, porcupine.Operation{Input: input, Output: output, Call: at, Return: at + 1})
	}
	for _, op := range o.done {
		add(op.input, op.output)
	}
	add(reader{}, seen)
	return ops
}

// wide are the operations of a window as their clients saw them.
func (o *object) wide(seen any, now core.MonoTime) []porcupine.Operation {
	const open = int64(1<<63 - 1)
	var ops []porcupine.Operation
	for _, some := range [][]*operation{o.done, o.flying} {
		for _, op := range some {
			back := open
			if op.told != nil {
				back = int64(op.back)
			}
			ops = append(ops, porcupine.Operation{Input: op.input, Output: op.told, Call: int64(max(op.call, o.since)), Return: back})
		}
	}
	return append(ops, porcupine.Operation{Input: reader{}, Output: seen, Call: int64(now), Return: int64(now)})
}

// last judges what is left of every history at the end of a run.
func (h *history) last() {
	for _, o := range h.objects() {
		h.cut(o)
	}
}

func (h *history) objects() []*object {
	all := []*object{h.kv}
	for _, t := range sortedKeys(h.tables) {
		all = append(all, h.tables[t])
	}
	for _, t := range sortedKeys(h.demand) {
		all = append(all, h.demand[t])
	}
	return all
}

// verdict is what the histories say at the end of a run.
func (h *history) verdict() (Verdict, string) {
	h.last()
	switch {
	case len(h.w.checks.broken) > 0:
		return Safety, h.w.checks.broken[0]
	case h.undecided != "":
		return Timeout, h.undecided
	}
	return Clean, ""
}

// checkTime is how long a search may take where nothing else is said.
const checkTime = 10 * time.Second
