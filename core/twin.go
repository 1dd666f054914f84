package core

import "fmt"

// Twin is the process that is registered under this worker's name in its place; ok is false if none is. While
// there is one this worker is not registered: nothing is reserved for it, and it starts nothing that another
// process of its name was reserved for. A predecessor counts too, for as long as its lease stands.
func (w *Worker) Twin() (r WorkerRecord, ok bool) {
	s := ownWorker(w.view, w.cfg.Endpoint)
	return s.Value, s.Present() && s.Value.Instance != w.cfg.Instance
}

// noticeTwin says once of each twin that it is there.
func (w *Worker) noticeTwin() {
	twin, ok := w.Twin()
	if !ok || twin.Instance == w.twin {
		return
	}
	w.twin = twin.Instance
	w.out.add(Note{Text: fmt.Sprintf("another process is registered as worker %s, at %s: this one runs nothing until that one has ended", w.cfg.Endpoint, twin.Address)})
}
