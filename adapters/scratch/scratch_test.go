package scratch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestADirectoryOfADeadProcessGoesAndThatOfALivingOneStays(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	alive, err := New(parent, "test")
	if err != nil {
		t.Fatal(err)
	}
	dead, err := New(parent, "test")
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // what the kernel does when a process dies
	other, err := New(parent, "other")
	if err != nil {
		t.Fatal(err)
	}
	other.lock.Close()

	sweep(parent, "test", time.Now())
	if _, err := os.Stat(dead.Path()); err != nil {
		t.Fatalf("expected a directory that may just be being made to stay: %v", err)
	}
	sweep(parent, "test", time.Now().Add(2*settling))
	if _, err := os.Stat(dead.Path()); !os.IsNotExist(err) {
		t.Fatalf("expected the dead process's directory to be gone, got %v", err)
	}
	for _, d := range []*Dir{alive, other} {
		if _, err := os.Stat(d.Path()); err != nil {
			t.Fatalf("expected %s to stay: %v", d.Path(), err)
		}
	}
	if err := alive.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "sluice-test-*")); len(left) > 0 {
		t.Fatalf("expected nothing to be left, found %v", left)
	}
	if err := alive.Close(); err != nil {
		t.Fatalf("close again: %v", err)
	}
}
