package gate_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/sluice-data/sluice/adapters/gate"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

func TestAnExecutionDeletesNothing(t *testing.T) {
	t.Parallel()
	w, c, as := both(t)
	engine := as["execution"]
	for _, key := range w.files(t, "") {
		if got := engine.delete(t, key); got != 403 || !w.exists(t, key) {
			t.Errorf("delete of %s: %d, there: %t; want 403 and there", key, got, w.exists(t, key))
		}
		_, err := engine.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{
			Bucket: aws.String(gate.Bucket), Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: &key}}},
		})
		if got := status(t, err); got != 403 || !w.exists(t, key) {
			t.Errorf("bulk delete of %s: %d, there: %t; want 403 and there", key, got, w.exists(t, key))
		}
	}
	w.intact(t, c, 10)
}

func TestAClientDeletesNothingThatARunningExecutionBuildsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	c := pylance(t)
	shard := w.adopted(t, c)
	old := w.files(t, "data/")
	first := lance.BaseKey(table, core.V2, 1)
	e, cred := w.start(t, table, shard)
	start := lance.BaseKey(table, core.V2, e.BaseVersion)
	c.must(t, w.Gate, cred, "merge", table, args{"ids": ids(5, 15), "shard": shard, "generation": 1})
	made := slices.DeleteFunc(w.files(t, "data/"), func(k string) bool { return slices.Contains(old, k) })
	head := lance.BaseKey(table, core.V2, w.head(t))
	for _, key := range append(made, start, head) {
		if got := w.wire.delete(t, key); got != 403 || !w.exists(t, key) {
			t.Errorf("delete of %s: %d, want 403", key, got)
		}
	}
	if got := w.wire.delete(t, first); got != 200 || w.exists(t, first) {
		t.Errorf("delete of a version from before the start: %d, want 200", got)
	}
	if r := c.do(t, w.Gate, w.client, "drop", table, nil); r.Error == "" {
		t.Error("the table was dropped under a running execution")
	}
	w.intact(t, c, 15)
	w.authority.release(e.ID)
	if r := c.do(t, w.Gate, w.client, "drop", table, nil); r.Error != "" || len(w.files(t, "")) > 0 {
		t.Errorf("drop after the release: %q, %d files left", firstLine(r.Error), len(w.files(t, "")))
	}
}

func TestNobodySeesSluicesOwnFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	if err := w.lake.PutIfAbsent(t.Context(), "_sluice/lake.json", strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	if got := w.wire.put(t, "loose/file", "x"); got != 200 {
		t.Fatal(got)
	}
	for _, prefix := range []string{"", "_", "_sluice", "_sluice/", "_sluice/lake"} {
		for _, delimiter := range []string{"", "/"} {
			for _, k := range w.wire.list(t, prefix, delimiter, 1000) {
				if strings.HasPrefix(k, "_sluice") {
					t.Errorf("listing %q with delimiter %q shows %s", prefix, delimiter, k)
				}
			}
		}
	}
	if _, got := w.wire.get(t, "_sluice/lake.json"); got != 403 {
		t.Errorf("get: %d, want 403", got)
	}
	if got := w.wire.put(t, "_sluice/x", "x"); got != 403 {
		t.Errorf("put: %d, want 403", got)
	}
	if got := w.wire.delete(t, "_sluice/lake.json"); got != 403 {
		t.Errorf("delete: %d, want 403", got)
	}
	_, err := w.wire.CopyObject(t.Context(), &s3.CopyObjectInput{
		Bucket: aws.String(gate.Bucket), Key: aws.String("loose/stolen"), CopySource: aws.String("lake/_sluice/lake.json"),
	})
	if got := status(t, err); got != 403 {
		t.Errorf("copy: %d, want 403", got)
	}
}

func TestEachClassReachesItsOwnPlaceOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	own, other := table.Path(), "db/other.lance"
	for _, k := range []string{own + "/data/a", other + "/data/a"} {
		if got := w.wire.put(t, k, "x"); got != 200 {
			t.Fatal(got)
		}
	}
	e := core.Execution{ID: "e1", Target: table, Kind: core.KindMerge, Phase: core.Running}
	w.authority.run(e)
	execution := newWire(w.Gate, w.GrantExecution(e))
	ingest := newWire(w.Gate, w.GrantIngest(table, "s1"))
	r, err := w.GrantReader("", "")
	if err != nil {
		t.Fatal(err)
	}
	reader := newWire(w.Gate, r)
	stranger := newWire(w.Gate, gate.Credential{AccessKey: "SLNOBODY", SecretKey: "whatever1"})
	forger := newWire(w.Gate, gate.Credential{AccessKey: w.client.AccessKey, SecretKey: "whatever1"})
	for _, c := range []struct {
		what string
		got  int
		want int
	}{
		{"an execution reads its table", second(execution.get(t, own+"/data/a")), 200},
		{"an execution reads another table", second(execution.get(t, other+"/data/a")), 403},
		{"an execution writes data", execution.put(t, own+"/data/new", "x"), 200},
		{"an execution writes an index", execution.put(t, own+"/_indices/u/index.idx", "x"), 200},
		{"an execution writes into another table", execution.put(t, other+"/data/new", "x"), 403},
		{"an execution writes into the MemWAL", execution.putNew(t, own+"/_mem_wal/s1/wal/1.arrow", []byte("x")), 403},
		{"an execution writes a tag", execution.put(t, own+"/_refs/tags/x.json", "x"), 403},
		{"an execution writes a branch", execution.put(t, own+"/tree/b/data/x.lance", "x"), 403},
		{"an execution writes a detached version", execution.putNew(t, own+"/_versions/d9223372036854775809.manifest", []byte("x")), 403},
		{"an execution writes beside tables", execution.put(t, "loose", "x"), 403},
		{"a client writes a detached version", w.wire.putNew(t, own+"/_versions/d9223372036854775809.manifest", []byte("x")), 200},
		{"a client writes a tag", w.wire.put(t, own+"/_refs/tags/x.json", "x"), 200},
		{"a client overwrites data", w.wire.put(t, own+"/data/a", "y"), 200},
		{"an ingest writer writes a WAL entry", ingest.putNew(t, own+"/_mem_wal/s1/wal/1.arrow", []byte("x")), 200},
		{"an ingest writer writes it again", ingest.putNew(t, own+"/_mem_wal/s1/wal/1.arrow", []byte("x")), 412},
		{"an ingest writer writes one without a condition", ingest.put(t, own+"/_mem_wal/s1/wal/2.arrow", "x"), 403},
		{"an ingest writer writes its hint", ingest.put(t, own+"/_mem_wal/s1/manifest/version_hint.json", "1"), 200},
		{"an ingest writer overwrites its hint", ingest.put(t, own+"/_mem_wal/s1/manifest/version_hint.json", "2"), 200},
		{"an ingest writer writes an SSTable's file", ingest.put(t, own+"/_mem_wal/s1/g1/data/x.lance", "x"), 200},
		{"an ingest writer overwrites an SSTable's file", ingest.put(t, own+"/_mem_wal/s1/g1/data/x.lance", "y"), 403},
		{"an ingest writer writes another shard", ingest.putNew(t, own+"/_mem_wal/s2/wal/1.arrow", []byte("x")), 403},
		{"an ingest writer writes data", ingest.put(t, own+"/data/z", "x"), 403},
		{"an ingest writer deletes", ingest.delete(t, own+"/_mem_wal/s1/wal/1.arrow"), 403},
		{"a reader reads", second(reader.get(t, other+"/data/a")), 200},
		{"a reader writes", reader.put(t, "loose", "x"), 403},
		{"a reader deletes", reader.delete(t, other+"/data/a"), 403},
		{"a stranger reads", second(stranger.get(t, own+"/data/a")), 403},
		{"somebody with a wrong secret reads", second(forger.get(t, own+"/data/a")), 403},
		{"somebody without a credential reads", anonymous(t, w.Gate, own+"/data/a"), 403},
		{"somebody asks for the library's administration", administration(t, w), 405},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	_, err = execution.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(gate.Bucket), Prefix: aws.String("db/")})
	if got := status(t, err); got != 403 {
		t.Errorf("an execution lists above its table: %d, want 403", got)
	}
	_, err = w.wire.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("other")})
	if got := status(t, err); got != 404 {
		t.Errorf("another bucket: %d, want 404", got)
	}
}

func second[A, B any](_ A, b B) B { return b }

func anonymous(t *testing.T, g *gate.Gate, key string) int {
	t.Helper()
	r, err := http.Get("http://" + g.Addr() + "/" + gate.Bucket + "/" + key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode
}

func administration(t *testing.T, w *world) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://"+w.Addr()+"/list-users", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	return a.StatusCode
}
