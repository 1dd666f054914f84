package sim

import (
	"testing"

	"github.com/sluice-data/sluice/adapters/laketest"
	"github.com/sluice-data/sluice/core"
)

// TestTheModelTableConforms holds the simulator's chain of versions to the suite that the real lakes pass. What
// the world adds to it, delays, losses and bad answers, is not part of it.
func TestTheModelTableConforms(t *testing.T) {
	t.Parallel()
	laketest.Run(t, func(*testing.T) laketest.Chain {
		tb := newTable(1) // it has a version 1 from its maker: the chain begins above
		const made = 1
		return laketest.Chain{
			Put: func(_ *testing.T, version int, body string) bool {
				return tb.publish(core.BaseManifest{Version: core.Version(version + made)}, map[string]string{"body": body}, "somebody")
			},
			Get: func(_ *testing.T, version int) (string, bool) {
				for _, v := range tb.versions {
					if v.Version == core.Version(version+made) {
						return v.rows["body"], true
					}
				}
				return "", false
			},
			Latest: func(*testing.T) int { return int(tb.head().Version) - made },
		}
	})
}
