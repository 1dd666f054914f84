package lake_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
)

func TestALakeBelongsToTheKVThatClaimedItFirst(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	if _, err := lake.ClaimedBy(t.Context(), l); !errors.Is(err, lake.ErrNotExist) {
		t.Errorf("nobody has claimed it: %v", err)
	}
	for range 2 {
		if err := lake.Claim(t.Context(), l, "kv-1"); err != nil {
			t.Fatal(err)
		}
	}
	err := lake.Claim(t.Context(), l, "kv-2")
	var other *lake.OtherKVError
	if !errors.As(err, &other) || other.KV != "kv-1" {
		t.Fatalf("claim by another KV: %v, want a refusal that names kv-1", err)
	}
	if by, err := lake.ClaimedBy(t.Context(), l); err != nil || by != "kv-1" {
		t.Errorf("claimed by %q (%v), want kv-1", by, err)
	}
}

func TestALakeInsideAnotherOneIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := lake.Claim(t.Context(), open(t, dir), "kv-1"); err != nil {
		t.Fatal(err)
	}
	err := lake.Claim(t.Context(), open(t, inner), "kv-1")
	var nested *lake.NestedError
	if !errors.As(err, &nested) || !strings.HasSuffix(nested.Parent, "lake.json") {
		t.Errorf("claim: %v, want a refusal that names the outer lake", err)
	}
	if names, err := os.ReadDir(inner); err != nil || len(names) != 0 {
		t.Errorf("the refused lake holds %v (%v)", names, err)
	}
}

func TestADamagedClaimIsNotTakenOver(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	publish(t, l, lake.ClaimKey, "{}")
	if err := lake.Claim(t.Context(), l, "kv-1"); err == nil {
		t.Error("a claim that names nobody was taken for ours")
	}
	wantBody(t, l, lake.ClaimKey, "{}")
}
