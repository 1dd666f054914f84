package main_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fate is what a wire does with one request.
type fate int

const (
	pass fate = iota
	// lose cuts the connection before the request has arrived.
	lose
	// deafen cuts it once the request was answered, so that nobody hears the answer.
	deafen
)

// wire is a network between two processes of which one speaks HTTP to the other, and what can become of each
// request on its way. A request that is on its way arrives, also when its sender has died meanwhile.
type wire struct {
	URL string

	mu   sync.Mutex
	far  *url.URL
	meet func(*http.Request) fate
	// answered, if set, is told what became of each request that arrived.
	answered func(*http.Request, int)
}

// newWire makes a wire to a URL, which may be named later. meet decides about each request, and may hold it by
// not returning.
func newWire(t *testing.T, to string, meet func(*http.Request) fate) *wire {
	t.Helper()
	w := &wire{meet: meet}
	if to != "" {
		w.to(t, to)
	}
	w.listen(t, "127.0.0.1:0")
	return w
}

func (w *wire) listen(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	must(t, err)
	server := httptest.NewUnstartedServer(w)
	must(t, server.Listener.Close())
	server.Listener = l
	server.Start()
	t.Cleanup(server.CloseClientConnections)
	w.URL = server.URL
}

func (w *wire) to(t *testing.T, far string) {
	t.Helper()
	u, err := url.Parse(far)
	must(t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.far = u
}

// ServeHTTP implements [http.Handler].
func (w *wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	far := w.far
	w.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil || far == nil {
		panic(http.ErrAbortHandler) // which cuts the connection
	}
	what := w.meet(r)
	if what == lose {
		panic(http.ErrAbortHandler)
	}
	sent := r.Clone(context.WithoutCancel(r.Context()))
	sent.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	forward := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(far)
		p.Out.Host = p.In.Host // it is signed
	}}
	forward.ServeHTTP(answer, sent)
	if w.answered != nil {
		w.answered(r, answer.Code)
	}
	if what == deafen {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header() {
		out.Header()[name] = values
	}
	out.WriteHeader(answer.Code)
	_, _ = out.Write(answer.Body.Bytes()) // its reader may have gone
}

// gateway holds the puts whose path has some words, until they are let go.
type gateway struct {
	*wire
	held chan *heldRequest
}

type heldRequest struct {
	request *http.Request
	free    chan struct{}
	status  chan int
}

// release lets the put go to storage, whatever has become of its sender.
func (h *heldRequest) release() { close(h.free) }

// answer is what storage said to the put.
func (h *heldRequest) answer(t *testing.T) int {
	t.Helper()
	select {
	case status := <-h.status:
		return status
	case <-time.After(20 * time.Second):
		t.Fatal("storage does not answer the put that was held")
		return 0
	}
}

// newHoldingWire holds the first n puts that match.
func newHoldingWire(t *testing.T, to string, n int, match func(path string) bool) *gateway {
	t.Helper()
	g := &gateway{held: make(chan *heldRequest, n)}
	var mu sync.Mutex
	var all []*heldRequest
	g.wire = newWire(t, to, func(r *http.Request) fate {
		if r.Method != http.MethodPut || !match(r.URL.Path) {
			return pass
		}
		mu.Lock()
		if n == 0 {
			mu.Unlock()
			return pass
		}
		n--
		mu.Unlock()
		h := &heldRequest{r, make(chan struct{}), make(chan int, 1)}
		mu.Lock()
		all = append(all, h)
		mu.Unlock()
		g.held <- h
		select {
		case <-h.free:
			return pass
		case <-t.Context().Done():
			return lose
		}
	})
	g.answered = func(r *http.Request, status int) {
		mu.Lock()
		defer mu.Unlock()
		for _, h := range all {
			if h.request == r {
				h.status <- status
			}
		}
	}
	return g
}

// wait returns the next put that is held.
func (g *gateway) wait(t *testing.T) *heldRequest {
	t.Helper()
	select {
	case h := <-g.held:
		return h
	case <-time.After(50 * time.Second):
		t.Fatal("no put came to be held")
		return nil
	}
}

// trouble is a wire on which, from begin to end, no request about some paths is answered.
type trouble struct {
	*wire
	on atomic.Bool
}

func newTrouble(t *testing.T, to, about string) *trouble {
	t.Helper()
	b := &trouble{}
	b.wire = newWire(t, to, func(r *http.Request) fate {
		if b.on.Load() && strings.Contains(r.URL.Path+"?"+r.URL.Query().Get("prefix"), about) {
			return lose
		}
		return pass
	})
	return b
}

func (b *trouble) begin() { b.on.Store(true) }
func (b *trouble) end()   { b.on.Store(false) }
