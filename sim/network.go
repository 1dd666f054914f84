package sim

import (
	"fmt"

	"github.com/sluice-data/sluice/core"
)

// What processes say to each other: requests with a time-out, which may get lost, arrive twice or late.

// way is one direction between two processes. A cut way takes no requests, and no answers to those that came
// the other way: A hears B, and B doesn't hear A.
type way struct{ from, to string }

func (c way) String() string { return c.from + " is not heard by " + c.to }

// call is one request that waits for its answer.
type call struct {
	from, kind string
	deaf       bool // its answer gets lost
	done       func(core.Replied)
}

func (w *world) newRequest() core.RequestID {
	w.request++
	return w.request
}

func requestOf(ev core.Event) core.RequestID {
	switch ev := ev.(type) {
	case core.StartRequested:
		return ev.Request
	case core.CancelRequested:
		return ev.Request
	case core.StatusRequested:
		return ev.Request
	}
	panic(fmt.Sprintf("%T is no request", ev))
}

// call makes an RPC to the process at an address. After the time-out its answer counts no more.
func (w *world) call(p *process, what, address string, id core.EffectID, ev core.Event) {
	life, request := p.life, requestOf(ev)
	c := &call{from: p.name, kind: kindOf(ev), done: func(r core.Replied) {
		r.Effect = id
		if p.life == life {
			w.deliver(p, r)
		}
	}}
	w.rpcs[request] = c
	w.after(rpcTimeout, func() { w.finishCall(request, core.Replied{}) })
	to := w.process(address)
	lost, done := w.faults.lose("rpc", p.name)
	if p.noRPC || to == nil || to.noRPC || w.cuts[way{p.name, to.name}.String()] || lost && !done {
		return
	}
	c.deaf = lost
	arrive := func() { w.deliver(to, ev) }
	if !w.plot.withholds(ev, arrive) {
		there, _ := w.faults.stall(what, p.name)
		w.after(there+w.faults.delay("rpc", p.name), arrive)
	}
	if again, ok := w.faults.twice("rpc", p.name); ok {
		w.cover.rare("a request to a worker arrives twice: " + c.kind)
		w.after(again, func() { w.deliver(to, ev) })
	}
}

func (w *world) replied(p *process, request core.RequestID, r core.Replied) {
	c := w.rpcs[request]
	switch {
	case c == nil: // it has waited for too long
	case c.deaf || w.cuts[way{p.name, c.from}.String()]:
		w.cover.rare("a request arrived and its answer does not come back: " + c.kind)
	default:
		w.after(w.faults.delay("rpc", p.name), func() { w.finishCall(request, r) })
	}
}

func (w *world) finishCall(request core.RequestID, r core.Replied) {
	if c := w.rpcs[request]; c != nil {
		delete(w.rpcs, request)
		c.done(r)
	}
}
