package gate

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestABodyOfMoreThan64MiBIsKeptInAFile(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, maxInMemory - 1, maxInMemory, maxInMemory + 1} {
		want := bytes.Repeat([]byte("x"), size)
		b, err := readBody(bytes.NewReader(want), t.TempDir())
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !bytes.Equal(b.bytes, want) || b.digest.size != int64(size) {
			t.Errorf("%d bytes: read %d, digest of %d", size, len(b.bytes), b.digest.size)
		}
		b.close()
	}
}

// Against a model with one flag a byte: what counts as fresh is never counted twice, and nothing is
// missed as long as the bound on ranges is not reached.
func TestReadRangesCountEachByteOnce(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var spans []span
		var read [1000]bool
		for range 30 {
			from := random.Int64N(990)
			s := span{from, from + 1 + random.Int64N(1000-from)/10}
			var want, got int64
			for i := s.from; i < s.to; i++ {
				if !read[i] {
					want++
				}
				read[i] = true
			}
			if spans, got = cover(spans, s); got != want {
				t.Fatalf("reading %v after %v: %d fresh bytes, want %d", s, spans, got, want)
			}
		}
	}
}

func TestReadRangesStayBounded(t *testing.T) {
	t.Parallel()
	var spans []span
	total := int64(0)
	for i := range int64(1000) {
		var fresh int64
		spans, fresh = cover(spans, span{i * 10, i*10 + 1})
		total += fresh
	}
	if len(spans) > maxReadRanges || total > 1000 {
		t.Errorf("%d ranges and %d fresh bytes, want at most %d and 1000", len(spans), total, maxReadRanges)
	}
}
