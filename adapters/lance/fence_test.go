package lance_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

const (
	tableID core.TableID     = "table-1"
	fenced  core.ExecutionID = "execution-1"
	now     core.WallMillis  = 4_000_000_000_123
)

// adopt gives the table its id; the table then stands one version higher.
func adopt(t *testing.T, l lake.Lake, target core.Target, id core.TableID) core.Table {
	t.Helper()
	for _, step := range core.AdoptionSteps(readTable(t, l, target)) {
		r := request(readTable(t, l, target), step.Resource)
		r.Version, r.TableID, r.Adopt, r.Execution = step.Version, id, true, ""
		if landed, err := lance.Fence(t.Context(), l, r); !landed || err != nil {
			t.Fatalf("adopt %s: landed %t, %v", step.Resource, landed, err)
		}
	}
	return readTable(t, l, target)
}

// request asks for a fence of the next version of a resource, rightly.
func request(table core.Table, r core.ResourceID) lance.FenceRequest {
	latest := table.Latest(r)
	return lance.FenceRequest{
		Target: table.Target, Resource: r, Version: latest + 1, TableID: table.Base.TableID, Scheme: table.Base.Scheme,
		Seen: latest, Execution: fenced, UUID: "5e5d8ca3-4a62-4f8e-9f0c-0d1d0a7f4f0b", Now: now,
	}
}

func TestAdoptionGivesTheIDAndOccupiesTheNextVersionOfEveryResource(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	before := readTable(t, l, memWAL)
	for _, id := range []core.TableID{tableID, "table-2"} { // the second over the first: a copy carries its origin's
		after := adopt(t, l, memWAL, id)
		if after.Base.TableID != id || after.Base.Version != before.Base.Version+1 || after.Base.Operation != core.OpUpdateConfig {
			t.Errorf("base is %+v after adoption as %s", after.Base, id)
		}
		if !after.Base.Marks.Equal(before.Base.Marks) || after.Base.ReadVersion != before.Base.Version {
			t.Errorf("base is %+v, was %+v", after.Base, before.Base)
		}
		for i, s := range after.Shards {
			if s.Version != before.Shards[i].Version+1 || len(s.SSTables) != len(before.Shards[i].SSTables) {
				t.Errorf("shard is %+v, was %+v", s, before.Shards[i])
			}
		}
		before = after
	}
}

func TestAFenceOccupiesAnAdmittedVersionAndChangesNothing(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	table := adopt(t, l, memWAL, tableID)
	for _, r := range []core.ResourceID{core.Base, core.ShardResource(table.Shards[0].Shard)} {
		want := request(table, r)
		if landed, err := lance.Fence(t.Context(), l, want); !landed || err != nil {
			t.Fatalf("%s: landed %t, %v", r, landed, err)
		}
		after := readTable(t, l, memWAL)
		if after.Latest(r) != want.Version {
			t.Errorf("%s stands at %d, want %d", r, after.Latest(r), want.Version)
		}
		if landed, err := lance.Fence(t.Context(), l, want); landed || err != nil {
			t.Errorf("%s again: landed %t, %v; want occupied", r, landed, err)
		}
	}
}

func TestASuccessorOfEveryGoldenManifestHasTheSameContent(t *testing.T) {
	t.Parallel()
	l := openLake(t, golden)
	for _, key := range keysWithSuffix(t, l, ".manifest") {
		prev, err := lance.ParseBase(key, get(t, l, key))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second is a fence of a fence
			body, err := prev.Successor(lance.Entry{Key: core.FenceKey, Value: "e"}, "u", now)
			if err != nil {
				t.Fatal(err)
			}
			next, err := lance.ParseBase(key, body)
			if err != nil {
				t.Fatal(err)
			}
			if err := lance.SameContent(prev, next); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			if next.Rows != prev.Rows || next.Fragments != prev.Fragments || next.TransactionFile != "" {
				t.Errorf("%s: %d rows in %d fragments became %d in %d", key, prev.Rows, prev.Fragments, next.Rows, next.Fragments)
			}
			prev = next
		}
	}
}

func TestAnotherContentIsNoFence(t *testing.T) {
	t.Parallel()
	l := openLake(t, golden)
	for target, table := range readFacts(t) {
		_, scheme, err := lance.LatestBase(t.Context(), l, target)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range table.Versions[1:] {
			prev, err := lance.ReadBase(t.Context(), l, target, scheme, v.Version-1)
			if err != nil {
				t.Fatal(err)
			}
			next, err := lance.ReadBase(t.Context(), l, target, scheme, v.Version)
			if err != nil {
				t.Fatal(err)
			}
			if lance.SameContent(prev, next) == nil {
				t.Errorf("%s: version %d (%s) passes for a fence", target, v.Version, v.Operation)
			}
		}
	}
}

func TestAFenceOfTheWrongTableIsRefused(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	table := adopt(t, l, memWAL, tableID)
	shard := core.ShardResource(table.Shards[0].Shard)
	cases := []struct {
		name     string
		resource core.ResourceID
		change   func(*lance.FenceRequest)
		code     core.Code
	}{
		{"another table id", core.Base, func(r *lance.FenceRequest) { r.TableID = "table-2" }, core.CodeTableReplaced},
		{"another table id, for a shard", shard, func(r *lance.FenceRequest) { r.TableID = "table-2" }, core.CodeTableReplaced},
		{"another naming scheme", core.Base, func(r *lance.FenceRequest) { r.Scheme = core.V1 }, core.CodeTableFormat},
		{"a lake that went back", core.Base, func(r *lance.FenceRequest) { r.Seen += 3 }, core.CodeLakeWentBack},
		{"a shard that went back", shard, func(r *lance.FenceRequest) { r.Seen += 3 }, core.CodeLakeWentBack},
		{"a shard that is gone", core.ShardResource("99999999-9999-4999-8999-999999999999"), func(r *lance.FenceRequest) { r.Version = 4 }, core.CodeLakeWentBack},
		{"a table that is gone", core.Base, func(r *lance.FenceRequest) { r.Target = "gone" }, core.CodeTableMissing},
	}
	before := keysWithSuffix(t, l, "")
	for _, c := range cases {
		r := request(table, c.resource)
		c.change(&r)
		landed, err := lance.Fence(t.Context(), l, r)
		var f core.Failure
		if landed || !errors.As(err, &f) || f.Code != c.code {
			t.Errorf("%s: landed %t, %v; want %s", c.name, landed, err, c.code)
		}
	}
	r := request(table, core.Base)
	r.Version += 2
	if landed, err := lance.Fence(t.Context(), l, r); landed || err == nil {
		t.Errorf("a gap: landed %t, %v; want a refusal", landed, err)
	}
	if after := keysWithSuffix(t, l, ""); len(after) != len(before) {
		t.Errorf("a refused fence wrote something: %d keys became %d", len(before), len(after))
	}
}

// withFlags returns a manifest file whose writer flags are these.
func withFlags(t *testing.T, body []byte, flags uint64) []byte {
	t.Helper()
	const writerFlags = 10
	end := len(body) - 16
	field := protowire.AppendVarint(protowire.AppendTag(nil, writerFlags, protowire.VarintType), flags)
	pos := int(uint64(body[end]) | uint64(body[end+1])<<8 | uint64(body[end+2])<<16)
	length := end - pos - 4 + len(field)
	out := append(bytes.Clone(body[:pos]), byte(length), byte(length>>8), byte(length>>16), byte(length>>24))
	out = append(append(out, body[pos+4:end]...), field...)
	return append(out, body[end:]...)
}

func TestAManifestWithUnknownWriterFlagsIsNeitherFencedNorAdopted(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	table := adopt(t, l, memWAL, tableID)
	key := lance.BaseKey(memWAL, core.V2, table.Base.Version)
	for _, flags := range []uint64{1 << 6, 1 << 12, 1 << 17, 1 << 40} {
		put(t, l, key, withFlags(t, get(t, l, key), flags|1))
		table = readTable(t, l, memWAL)
		if table.Base.UnknownFlags != flags {
			t.Errorf("unknown flags %#x, want %#x", table.Base.UnknownFlags, flags)
		}
		for _, adopting := range []bool{false, true} {
			r := request(table, core.Base)
			r.Adopt = adopting
			landed, err := lance.Fence(t.Context(), l, r)
			if landed {
				t.Errorf("flags %#x: landed", flags)
			}
			wantCode(t, err, core.CodeTableFormat)
		}
	}
}

// lost is a lake whose puts are stored and whose answers are lost.
type lost struct{ lake.Lake }

func (l lost) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	return errors.Join(l.Lake.PutIfAbsent(ctx, key, body), io.ErrUnexpectedEOF)
}

func TestAFenceWhoseAnswerIsLostIsFoundAtTheNextLook(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	r := request(adopt(t, l, memWAL, tableID), core.Base)
	landed, err := lance.Fence(t.Context(), lost{l}, r)
	if landed {
		t.Error("landed without an answer")
	}
	wantCode(t, err, core.CodeStorage)
	if landed, err := lance.Fence(t.Context(), l, r); landed || err != nil {
		t.Errorf("landed %t, %v; want occupied", landed, err)
	}
}

func TestOnlyOneOfManyFencersLands(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	r := request(adopt(t, l, memWAL, tableID), core.Base)
	landings := make(chan bool)
	const fencers = 16
	for range fencers {
		go func() {
			landed, err := lance.Fence(t.Context(), l, r)
			landings <- landed && err == nil
		}()
	}
	count := 0
	for range fencers {
		if <-landings {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d fences landed on version %d, want 1", count, r.Version)
	}
	if left, _ := filepath.Glob(filepath.Join(l.Dir(), "*", "_versions", ".*")); len(left) != 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
