package sim

import (
	"io"
	"slices"
	"time"

	"github.com/sluice-data/sluice/core"
)

// history records what clients asked of the world's objects and were told: of the KV, of each table's chain of
// versions, and of the demand for each table. It is judged while the run goes on, window by window (judge.go),
// and forgets what it has judged: its size depends on how much is under way, not on how long a run is.
type history struct {
	w      *world
	budget time.Duration // for a search that may need one
	kv     *object
	tables map[core.Target]*object
	demand map[core.Target]*object
	// watched is what watches have told of each revision since the KV's last cut.
	watched map[core.Revision]kvChange
	// undecided names the first model whose search did not end in its time.
	undecided string
	judged    int // operations
	log       *historyLog
}

// operation is one thing that somebody asked of an object. Its three moments are the call, the point at which it
// took effect, and the return. The world knows the second: it is the world that does it.
type operation struct {
	client   string
	call, at core.MonoTime
	back     core.MonoTime
	input    any
	output   any // what the object did; nil: nothing yet, or nothing ever
	told     any // what the client was told; nil: nothing, so it may have taken effect at any time since, or never
	// part is the same request as an operation of another object: a transaction of the KV that posts demand.
	part   *operation
	object *object
}

// object is one thing that has a history of its own.
type object struct {
	name  string
	model model
	look  func() any // the whole state of it, as a reader sees it now; nil: it isn't there
	// since is when the window under way began, start is what a reader saw then.
	since core.MonoTime
	start any
	// done are the operations that took effect in this window, in the order in which they did; flying are those
	// that were called, and have neither taken effect nor been lost for good.
	done, flying []*operation
	over         []core.ExecutionID          // of a table: those that are recovered
	landed       map[core.Version]*operation // of a table: the puts that made its versions
	taken        bool                        // of a demand: an execution has taken from it
}

func newHistory(w *world, budget time.Duration, out io.Writer) *history {
	h := &history{w: w, budget: budget, tables: map[core.Target]*object{}, demand: map[core.Target]*object{}}
	if out != nil {
		h.log = newHistoryLog(out)
	}
	h.kv = h.object("the KV", model{}, func() any { return w.kv.copied() })
	h.watch()
	for _, t := range sortedKeys(w.lake.tables) {
		h.addTable(t)
	}
	return h
}

func (h *history) object(name string, m model, look func() any) *object {
	return &object{name: name, model: m, look: look, since: h.w.now, start: look()}
}

// call notes that somebody asks something of an object.
func (h *history) call(o *object, client string, input any) *operation {
	op := &operation{client: client, call: h.w.now, input: input, object: o}
	o.flying = append(o.flying, op)
	h.log.called(op)
	return op
}

// lost notes that a request will never take effect: it did not get to the object.
func (h *history) lost(op *operation) {
	if h == nil || op == nil {
		return
	}
	op.object.settle(op)
	h.lost(op.part)
}

func (o *object) settle(op *operation) {
	if i := slices.Index(o.flying, op); i >= 0 {
		o.flying = slices.Delete(o.flying, i, i+1)
	}
}

// effect notes that a request takes effect now, with what the object does.
func (h *history) effect(op *operation, output any) {
	if h == nil || op == nil {
		return
	}
	o := op.object
	o.settle(op)
	op.at, op.output = h.w.now, output
	o.done = append(o.done, op)
	if len(o.done) >= windowSize {
		h.cut(o)
	}
}

// answered notes what the client is told. That is its own check: whoever is told something definite is told what
// the object did, and it did that between the call and now.
func (h *history) answered(op *operation, told any) {
	if h == nil || op == nil || !definite(told) {
		return
	}
	op.back, op.told = h.w.now, told
	h.log.answered(op)
	if !sameAnswer(told, op.output) || op.at < op.call || op.at > op.back {
		h.w.checks.broke("the history contradicts itself: %s was told %q of what it asked at %v, and the world did %q",
			op.client, answerText(told), time.Duration(op.call), answerText(op.output))
	}
	if op.part != nil {
		op.part.back, op.part.told = op.back, told
		h.log.answered(op.part)
	}
}

// once is an operation that takes no time: its effect is known to whoever caused it.
func (h *history) once(o *object, client string, input, output any) {
	if h == nil {
		return
	}
	op := h.call(o, client, input)
	op.back, op.told = h.w.now, output
	h.effect(op, output)
	h.log.answered(op)
}

// definite reports whether an answer says anything; silence doesn't.
func definite(told any) bool {
	switch a := told.(type) {
	case core.Committed:
		return a.Outcome != core.Unknown
	case core.ReadDone:
		return a.OK
	case core.Outcome:
		return a != core.Unknown
	}
	return false
}

// sameAnswer compares what was told with what was done.
func sameAnswer(told, done any) bool {
	a, isRead := told.(core.ReadDone)
	b, wasRead := done.(core.ReadDone)
	if isRead && wasRead {
		return a.Revision == b.Revision && slices.Equal(a.Records, b.Records)
	}
	return !isRead && !wasRead && told == done
}
