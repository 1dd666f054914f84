package sim

// hash is a running 64-bit sum (FNV-1a) of everything that is written to it. Two runs that end with the
// same sum took the same steps, for all that a test can tell.
type hash uint64

func newHash() hash { return 14695981039346656037 }

func (h *hash) number(n uint64) {
	x := uint64(*h)
	for range 8 {
		x = (x ^ n&0xff) * 1099511628211
		n >>= 8
	}
	*h = hash(x)
}

func (h *hash) text(s string) {
	x := uint64(*h)
	for i := range len(s) {
		x = (x ^ uint64(s[i])) * 1099511628211
	}
	*h = hash((x ^ 0xff) * 1099511628211) // so that "a" and "b" are not "ab"
}
