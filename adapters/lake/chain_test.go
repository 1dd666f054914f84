package lake_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
	"github.com/sluice-data/sluice/adapters/laketest"
)

// TestLakesKeepChainsOfVersions holds both lakes to the contract that the simulator's table keeps as well.
func TestLakesKeepChainsOfVersions(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		laketest.Run(t, func(t *testing.T) laketest.Chain { return chain(open(t, t.TempDir())) })
	})
	t.Run("s3", func(t *testing.T) {
		server, n := s3test.Start(t), 0
		laketest.Run(t, func(t *testing.T) laketest.Chain {
			n++
			return chain(openS3(t, fmt.Sprintf("s3://%s/chain-%d", s3test.Bucket, n), server.URL))
		})
	})
}

const versions = "events.lance/_versions/"

// chain is a chain of objects in a lake.
func chain(l lake.Lake) laketest.Chain {
	ctx := context.Background()
	name := func(v int) string { return fmt.Sprintf("%s%d.manifest", versions, v) }
	return laketest.Chain{
		Put: func(t *testing.T, version int, body string) bool {
			err := l.PutIfAbsent(ctx, name(version), strings.NewReader(body))
			if err != nil && !errors.Is(err, lake.ErrExists) {
				t.Fatal(err)
			}
			return err == nil
		},
		Get: func(t *testing.T, version int) (string, bool) {
			body, err := l.Get(ctx, name(version))
			if err != nil && !errors.Is(err, lake.ErrNotExist) {
				t.Fatal(err)
			}
			return string(body), err == nil
		},
		Latest: func(t *testing.T) int {
			all, err := l.List(ctx, versions)
			if err != nil {
				t.Fatal(err)
			}
			latest := 0
			for _, o := range all {
				n := 0
				if _, err := fmt.Sscanf(path.Base(o.Key), "%d.manifest", &n); err != nil {
					t.Fatal(err)
				}
				latest = max(latest, n)
			}
			return latest
		},
	}
}
