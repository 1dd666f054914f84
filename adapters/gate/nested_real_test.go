package gate_test

import (
	"strings"
	"testing"
)

// Lance lists _versions/ at any depth and looks at the last segment only, so a manifest in a folder of it is a version
// for every reader through S3, and none for the gate.
func TestAManifestInAFolderOfVersionsIsNoWayRoundTheGate(t *testing.T) {
	t.Parallel()
	w, c, as := both(t)
	key, body := w.candidate(t, 5)
	file := key[strings.LastIndex(key, "/")+1:]
	hidden := table.Path() + "/_versions/0/" + file
	for class, s3 := range as {
		if got := s3.putNew(t, hidden, body); got != 403 || w.exists(t, hidden) {
			t.Errorf("%s puts latest + 5 into a folder of _versions/: %d, want 403 and nothing there", class, got)
		}
	}
	before := w.head(t)
	r := c.do(t, w.Gate, w.client, "append", table, args{"ids": ids(100, 103)})
	t.Logf("the next append: %+v; the head was %d and is %d", r, before, w.head(t))
	w.intact(t, c, 13)
}
