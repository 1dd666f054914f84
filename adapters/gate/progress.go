package gate

import (
	"slices"
	"sync"

	"github.com/sluice-data/sluice/core"
)

// What is remembered of one execution's reads is bounded. Where the bounds are reached less counts as
// progress, never more.
const (
	maxReadKeys   = 16 << 10
	maxReadRanges = 64
)

// progress remembers which ranges an execution has read: only a first read is progress, because a client
// that retries or loops reads the same bytes for ever.
type progress struct {
	mu    sync.Mutex
	reads map[core.ExecutionID]map[string][]span
}

// span is the bytes [from, to).
type span struct{ from, to int64 }

func newProgress() *progress { return &progress{reads: map[core.ExecutionID]map[string][]span{}} }

// read records a read of [from, to) and returns how many of its bytes had not been read before.
func (p *progress) read(e core.ExecutionID, key string, from, to int64) int64 {
	if from >= to {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := p.reads[e]
	if keys == nil {
		keys = map[string][]span{}
		p.reads[e] = keys
	}
	spans, known := keys[key]
	if !known && len(keys) >= maxReadKeys {
		return 0
	}
	spans, fresh := cover(spans, span{from, to})
	keys[key] = spans
	return fresh
}

func (p *progress) forget(e core.ExecutionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reads, e)
}

// cover adds a span to sorted, disjoint ones and returns how many bytes it added.
func cover(spans []span, s span) ([]span, int64) {
	whole, fresh := s, s.to-s.from
	out := make([]span, 0, len(spans)+1)
	for _, o := range spans {
		if o.to < s.from || o.from > s.to {
			out = append(out, o)
			continue
		}
		fresh -= max(0, min(o.to, whole.to)-max(o.from, whole.from))
		s = span{min(o.from, s.from), max(o.to, s.to)}
	}
	at, _ := slices.BinarySearchFunc(out, s.from, func(o span, from int64) int { return int(min(1, max(-1, o.from-from))) })
	out = slices.Insert(out, at, s)
	if len(out) > maxReadRanges {
		out = closeSmallestGap(out)
	}
	return out, fresh
}

// closeSmallestGap joins the two neighbours that are nearest to each other.
func closeSmallestGap(spans []span) []span {
	best := 0
	for i := range len(spans) - 1 {
		if spans[i+1].from-spans[i].to < spans[best+1].from-spans[best].to {
			best = i
		}
	}
	spans[best].to = spans[best+1].to
	return slices.Delete(spans, best+1, best+2)
}
