package sim

import (
	"hash/fnv"
	"math/rand/v2"
)

// Choice is one thing that went other than in a world without faults: the N-th decision of a stream, and
// what it was. Decisions that are not named are 0: nothing happens. So a run is its seed, which says how
// the fleet is made and how long messages take, and its choices, each of which can be left out alone.
type Choice struct {
	Stream string `json:"s"`
	N      int    `json:"n"`
	Value  int64  `json:"v"`
}

// source makes all decisions of a run. Each component has a stream of its own, so that one more decision
// here changes none there.
type source struct {
	seed    uint64
	streams map[string]*stream
	// replay holds the choices of a run that is played again; nil: they are drawn.
	replay map[place]int64
	made   []Choice
	faults int  // choices that were made
	forget bool // they are counted and not kept
}

type place struct {
	stream string
	n      int
}

type stream struct {
	rng    *rand.Rand
	jitter *rand.Rand
	n      int
}

func newSource(seed uint64) *source { return &source{seed: seed, streams: map[string]*stream{}} }

// replaying is a source that makes these choices and no other.
func replaying(seed uint64, choices []Choice) *source {
	s := newSource(seed)
	s.replay = make(map[place]int64, len(choices))
	for _, c := range choices {
		s.replay[place{c.Stream, c.N}] = c.Value
	}
	return s
}

func (s *source) stream(name string) *stream {
	st, ok := s.streams[name]
	if !ok {
		h := fnv.New64a()
		h.Write([]byte(name))
		st = &stream{rng: rand.New(rand.NewPCG(s.seed, h.Sum64())), jitter: rand.New(rand.NewPCG(s.seed+1, h.Sum64()))}
		s.streams[name] = st
	}
	return st
}

// choose makes the next decision of a stream. draw may return 0 for "nothing happens".
func (s *source) choose(name string, draw func(r *rand.Rand) int64) int64 {
	st := s.stream(name)
	n := st.n
	st.n++
	var v int64
	if s.replay != nil {
		v = s.replay[place{name, n}]
	} else {
		v = draw(st.rng)
	}
	if v == 0 {
		return v
	}
	if s.faults++; !s.forget {
		s.made = append(s.made, Choice{name, n, v})
	}
	return v
}

// jitter is how a message's time varies in any weather. It is no choice: it belongs to the seed.
func (s *source) jitter(name string, most int64) int64 { return s.stream(name).jitter.Int64N(most) }
