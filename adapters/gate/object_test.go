package gate_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/core"
)

// Objects as any S3 client sees them.

func TestListingsPageThroughFoldersInKeyOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	keys := []string{"a", "a-b/1", "a/1", "a/2", "a/b/1", "a0", "b/1", "b/2", "c"}
	for _, k := range slices.Backward(keys) {
		if strings.HasPrefix(k, "a/") || k == "a" { // a file system can't hold both
			continue
		}
		if got := w.wire.put(t, k, k); got != 200 {
			t.Fatal(got)
		}
	}
	for _, k := range []string{"a/1", "a/2", "a/b/1"} {
		if got := w.wire.put(t, k, k); got != 200 {
			t.Fatal(got)
		}
	}
	keys = keys[1:]
	for page := int32(1); page <= 9; page++ {
		if got := w.wire.list(t, "", "", page); !slices.Equal(got, keys) {
			t.Errorf("all keys in pages of %d: %v, want %v", page, got, keys)
		}
		got := w.wire.list(t, "", "/", page)
		slices.Sort(got)
		if want := []string{"a-b/", "a/", "a0", "b/", "c"}; !slices.Equal(got, want) {
			t.Errorf("the top level in pages of %d: %v, want %v", page, got, want)
		}
		if got := w.wire.list(t, "a/", "", page); !slices.Equal(got, []string{"a/1", "a/2", "a/b/1"}) {
			t.Errorf("a/ in pages of %d: %v", page, got)
		}
	}
	if got := w.wire.list(t, "nothing/here", "", 10); len(got) != 0 {
		t.Errorf("a prefix without keys: %v", got)
	}
	for _, k := range []string{"b/1", "b/2"} {
		w.wire.delete(t, k)
	}
	if got := w.wire.list(t, "", "/", 10); slices.Contains(got, "b/") {
		t.Errorf("a folder whose objects were deleted is listed: %v", got)
	}
}

func TestOnlyFirstReadsAndNewWritesAreProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	key := table.Path() + "/data/a"
	if got := w.wire.put(t, key, strings.Repeat("x", 100)); got != 200 {
		t.Fatal(got)
	}
	e := core.Execution{ID: "e1", Target: table, Kind: core.KindMerge, Phase: core.Running}
	w.authority.run(e)
	engine := newWire(w.Gate, w.GrantExecution(e))
	read := func(header string) {
		out, err := engine.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(gate.Bucket), Key: &key, Range: &header})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out.Body); err != nil {
			t.Fatal(err)
		}
		out.Body.Close()
	}
	for _, r := range []string{"bytes=0-9", "bytes=0-9", "bytes=5-14", "bytes=-10", "bytes=90-"} {
		read(r)
	}
	for range 3 {
		if got := engine.put(t, table.Path()+"/data/new", "y"); got != 200 {
			t.Fatal(got)
		}
	}
	// NB: requests on one connection follow each other, so the reads are done with.
	if writes, bytes := w.authority.work(e.ID); writes != 1 || bytes != 25 {
		t.Errorf("%d writes and %d bytes are progress, want 1 and 25", writes, bytes)
	}
}

func TestALargeBodyGoesThroughInPartsAndInOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	large := bytes.Repeat([]byte("0123456789abcdef"), 65<<20/16)
	for range 2 { // the second time over the first, by the same bytes
		if got := w.wire.putNew(t, "loose/large", large); got != 200 && got != 412 {
			t.Errorf("put of 65 MiB: %d", got)
		}
	}
	if got := w.wire.put(t, "loose/large", string(large[1:])+"x"); got != 501 {
		t.Errorf("other 65 MiB over them: %d, want 501", got)
	}
	key := "loose/parts"
	up, err := w.wire.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(gate.Bucket), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	var parts []types.CompletedPart
	for n := range int32(3) {
		p, err := w.wire.UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: aws.String(gate.Bucket), Key: &key, UploadId: up.UploadId, PartNumber: aws.Int32(n + 1),
			Body: bytes.NewReader(large[n<<20 : (n+1)<<20]),
		})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, types.CompletedPart{ETag: p.ETag, PartNumber: aws.Int32(n + 1)})
	}
	complete := &s3.CompleteMultipartUploadInput{
		Bucket: aws.String(gate.Bucket), Key: &key, UploadId: up.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	}
	if _, err := w.wire.CompleteMultipartUpload(t.Context(), complete); err != nil {
		t.Fatal(err)
	}
	if got, code := w.wire.get(t, key); code != 200 || got != string(large[:3<<20]) {
		t.Errorf("the object of three parts: %d, %d bytes", code, len(got))
	}
	_, err = w.wire.CompleteMultipartUpload(t.Context(), complete)
	if got := status(t, err); got != 404 {
		t.Errorf("completing it again: %d, want 404", got)
	}
	for _, k := range w.wire.list(t, "", "", 1000) {
		if !strings.HasPrefix(k, "loose/") {
			t.Errorf("the lake shows %s", k)
		}
	}
}
