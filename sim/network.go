package sim

import (
	"fmt"

	"github.com/sluice-data/sluice/core"
)

// What processes say to each other: requests with a time-out, which may get lost, arrive twice or late.

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
	w.rpcs[request] = func(r core.Replied) {
		r.Effect = id
		if p.life == life {
			w.deliver(p, r)
		}
	}
	w.after(rpcTimeout, func() {
		delete(w.deaf, request)
		w.finishCall(request, core.Replied{})
	})
	to := w.process(address)
	lost, done := w.faults.lose("rpc", p.name)
	if p.noRPC || to == nil || to.noRPC || lost && !done {
		return
	}
	if lost {
		w.deaf[request] = true
	}
	there, _ := w.faults.stall(what, p.name)
	w.after(there+w.faults.delay("rpc", p.name), func() { w.deliver(to, ev) })
	if again, ok := w.faults.twice("rpc", p.name); ok {
		w.cover.rare("a request to a worker arrives twice: " + kindOf(ev))
		w.after(again, func() { w.deliver(to, ev) })
	}
}

func (w *world) replied(p *process, request core.RequestID, r core.Replied) {
	if !w.deaf[request] {
		w.after(w.faults.delay("rpc", p.name), func() { w.finishCall(request, r) })
	}
}

func (w *world) finishCall(request core.RequestID, r core.Replied) {
	if answer := w.rpcs[request]; answer != nil {
		delete(w.rpcs, request)
		answer(r)
	}
}
