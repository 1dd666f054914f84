package gate_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// Attacks on a manifest's name, body and verb. The table is pylance's own; the bad requests are plain S3.

// both gives the two classes that may publish base manifests, against a fresh table.
func both(t *testing.T) (w *world, c *client, as map[string]*wire) {
	t.Helper()
	w = newWorld(t, setup{})
	c = pylance(t)
	shard := w.adopted(t, c)
	_, cred := w.start(t, table, shard)
	return w, c, map[string]*wire{"client": w.wire, "execution": newWire(w.Gate, cred)}
}

func TestGapVersionIsRefusedForClientsAndExecutions(t *testing.T) {
	t.Parallel()
	w, c, as := both(t)
	key, body := w.candidate(t, 5)
	for class, s3 := range as {
		if got := s3.putNew(t, key, body); got != 403 || w.exists(t, key) {
			t.Errorf("%s puts latest + 5: %d, want 403 and nothing there", class, got)
		}
	}
	c.must(t, w.Gate, w.client, "append", table, args{"ids": ids(100, 103)})
	w.intact(t, c, 13)
}

func TestWrongBodyIsRefusedForClientsAndExecutions(t *testing.T) {
	t.Parallel()
	w, c, as := both(t)
	next := w.head(t) + 1
	_, old := w.candidate(t, 0)
	_, good := w.candidate(t, 1)
	for name, bad := range map[string]struct {
		key  string
		body []byte
	}{
		"a body of an older version":    {lance.BaseKey(table, core.V2, next), old},
		"a V1 name beside V2 names":     {lance.BaseKey(table, core.V1, next), good},
		"a body that is no manifest":    {lance.BaseKey(table, core.V2, next), []byte("LANC")},
		"a name that Lance reads freer": {table.Path() + "/_versions/+4.manifest", good},
		"a name with leading zeros":     {table.Path() + "/_versions/0004.manifest", good},
	} {
		for class, s3 := range as {
			if got := s3.putNew(t, bad.key, bad.body); got != 403 || w.exists(t, bad.key) {
				t.Errorf("%s puts %s: %d, want 403 and nothing there", class, name, got)
			}
		}
	}
	c.must(t, w.Gate, w.client, "append", table, args{"ids": ids(100, 103)})
	w.intact(t, c, 13)
}

func TestEncodedKeyIsJudgedAsTheLakeTakesIt(t *testing.T) {
	t.Parallel()
	w, c, as := both(t)
	key, body := w.candidate(t, 5)
	file := key[strings.LastIndex(key, "/")+1:]
	before := len(w.files(t, ""))
	for _, bad := range []string{
		table.Path() + "/_versions%2F" + file,
		table.Path() + "/%5fversions/" + file,
		table.Path() + "/_versions/%2e%2e/_versions%252F" + file,
		table.Path() + "/_versions//" + file,
		table.Path() + "//_versions/" + file,
		table.Path() + "/data/../_versions/" + file,
		table.Path() + "/_Versions/" + file,
		"db/../_sluice/lake.json",
		"%5fsluice/lake.json",
		"./" + key,
	} {
		for class, s3 := range as {
			if got := s3.putNew(t, bad, body); got != 403 && got != 400 {
				t.Errorf("%s puts %s: %d, want a refusal", class, bad, got)
			}
		}
	}
	if now := len(w.files(t, "")); now != before {
		t.Errorf("the table has %d files, had %d", now, before)
	}
	w.intact(t, c, 10)
}

func TestManifestByPartsOrByCopyIsRefused(t *testing.T) {
	t.Parallel()
	w, c, as := both(t)
	key, body := w.candidate(t, 1)
	sources := map[string]string{"execution": table.Path() + "/data/copy", "client": "loose/copy"}
	shard := table.Path() + "/_mem_wal/s/manifest/" + strings.Repeat("0", 64) + ".binpb"
	for class, s := range as {
		if got := s.put(t, sources[class], string(body)); got != 200 {
			t.Fatalf("%s puts the source: %d", class, got)
		}
		for _, k := range []string{key, shard} {
			_, err := s.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(gate.Bucket), Key: &k})
			if got := status(t, err); got != 403 {
				t.Errorf("%s begins a multipart upload of %s: %d, want 403", class, k, got)
			}
			_, err = s.CopyObject(t.Context(), &s3.CopyObjectInput{
				Bucket: aws.String(gate.Bucket), Key: &k, CopySource: aws.String(gate.Bucket + "/" + sources[class]),
			})
			if got := status(t, err); got != 403 {
				t.Errorf("%s copies to %s: %d, want 403", class, k, got)
			}
		}
	}
	if w.exists(t, key) {
		t.Error("the manifest is there")
	}
	w.intact(t, c, 10)
}

// An ingest client puts over a shard manifest without If-None-Match, as over one that a fence made.
func TestPlainPutOfAShardManifestIsRefusedForEveryCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	shard := w.adopted(t, c)
	e, execution := w.start(t, table, shard)
	landed, err := lance.Fence(t.Context(), w.lake, lance.FenceRequest{
		Target: table, Resource: core.ShardResource(shard), Version: w.shardHead(t, shard) + 1, TableID: tableID,
		Scheme: core.V2, Execution: e.ID, UUID: "00000000-0000-4000-8000-000000000003", Now: 1,
	})
	if err != nil || !landed {
		t.Fatalf("fence: %v, %v", landed, err)
	}
	key := lance.ShardKey(table, shard, w.shardHead(t, shard))
	fence, err := w.lake.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := w.GrantReader("", "")
	if err != nil {
		t.Fatal(err)
	}
	for class, cred := range map[string]gate.Credential{
		"client": w.client, "ingest": w.GrantIngest(table, shard), "execution": execution, "reader": reader,
	} {
		if got := newWire(w.Gate, cred).put(t, key, "overwritten"); got != 403 {
			t.Errorf("%s: %d, want 403", class, got)
		}
	}
	if now, err := w.lake.Get(t.Context(), key); err != nil || !bytes.Equal(now, fence) {
		t.Errorf("the fence was overwritten (%v)", err)
	}
	c.must(t, w.Gate, w.client, "ingest", table, args{"shard": shard, "ids": ids(15, 17)})
	w.intact(t, c, 10)
}

func (w *world) shardHead(t *testing.T, s core.ShardID) core.Version {
	t.Helper()
	v, err := lance.LatestShard(t.Context(), w.lake, table, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An occupied number is a conflict for everybody, and is not forwarded.
func TestAnOccupiedVersionIs412(t *testing.T) {
	t.Parallel()
	w, _, as := both(t)
	key, body := w.candidate(t, 0)
	for class, s3 := range as {
		if got := s3.putNew(t, key, body); got != 412 {
			t.Errorf("%s puts the latest version again: %d, want 412", class, got)
		}
		if got := s3.put(t, key, string(body)); got != 403 {
			t.Errorf("%s puts it without a condition: %d, want 403", class, got)
		}
	}
}
