package lance_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

const memWAL core.Target = "mem_wal"

// wantCode checks that an error carries the code.
func wantCode(t *testing.T, err error, code core.Code) {
	t.Helper()
	var f core.Failure
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got error %v, want %s", err, code)
	}
}

func readTable(t *testing.T, l lake.Lake, target core.Target) core.Table {
	t.Helper()
	table, err := lance.ReadTable(t.Context(), l, target)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestHintFilesChangeNoAnswer(t *testing.T) {
	t.Parallel()
	want := readTable(t, openLake(t, golden), memWAL)
	base := lance.VersionsFolder(memWAL) + "latest_version_hint.json"
	shard := lance.ShardManifestsFolder(memWAL, want.Shards[0].Shard) + "version_hint.json"
	cases := map[string]func(t *testing.T, l lake.Lake){
		"stale": func(t *testing.T, l lake.Lake) {
			put(t, l, base, []byte(`{"version":2}`))
			put(t, l, shard, []byte(`{"version":1}`))
		},
		"ahead": func(t *testing.T, l lake.Lake) {
			put(t, l, base, []byte(`{"version":9}`))
			put(t, l, shard, []byte(`{"version":99}`))
		},
		"garbage": func(t *testing.T, l lake.Lake) { put(t, l, base, []byte(`??`)); put(t, l, shard, nil) },
		"missing": func(t *testing.T, l lake.Lake) {
			if err := errors.Join(l.Delete(t.Context(), base), l.Delete(t.Context(), shard)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := copyTable(t, memWAL)
			change(t, l)
			got := readTable(t, l, memWAL)
			if got.Base.Version != want.Base.Version || got.Shards[0].Version != want.Shards[0].Version {
				t.Errorf("versions %d and %d, want %d and %d", got.Base.Version, got.Shards[0].Version, want.Base.Version, want.Shards[0].Version)
			}
		})
	}
}

// failing is a lake in which listings of some folders fail.
type failing struct {
	lake.Lake
	folder string
	err    error
}

func (f failing) Children(ctx context.Context, folder string) (lake.Children, error) {
	if strings.Contains(folder, f.folder) {
		return lake.Children{}, f.err
	}
	return f.Lake.Children(ctx, folder)
}

func TestAListingThatFailsIsNeverAnAbsence(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	for _, folder := range []string{"/_versions/", "/_mem_wal/", "/manifest/"} {
		l := failing{openLake(t, golden), folder, broken}
		_, err := lance.ReadTable(t.Context(), l, memWAL)
		wantCode(t, err, core.CodeStorage)
		if !errors.Is(err, broken) {
			t.Errorf("%s: the cause is lost: %v", folder, err)
		}
		l.err = lake.ErrDenied
		_, err = lance.ReadTable(t.Context(), l, memWAL)
		wantCode(t, err, core.CodeAuth)
	}
}

func TestACallerThatGivesUpIsNoStorageFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := lance.ReadTable(ctx, openLake(t, golden), memWAL)
	var f core.Failure
	if !errors.Is(err, context.Canceled) || errors.As(err, &f) {
		t.Errorf("got %v, want only the caller's own error", err)
	}
}

func TestNamesDecideWhichVersionIsNewest(t *testing.T) {
	t.Parallel()
	newest := core.Version(4)
	cases := []struct {
		name, file string
		like       core.Version // the version whose bytes the file has
		code       core.Code    // CodeOK: the answer stays as it was
	}{
		{"a detached version is not one of the table", "d9223372036854775999.manifest", 4, core.CodeOK},
		{"a temporary file of Lance is no version", ".tmp_9.manifest_9c100374-3298-4537-afc6-f5ee7913666d", 4, core.CodeOK},
		{"a file of the other scheme makes the table unreadable", "5.manifest", 4, core.CodeTableFormat},
		{"a name that Lance never gives makes the table unreadable", "x.manifest", 4, core.CodeTableFormat},
		{"a body that says less than its name is corrupt", lance.BaseName(core.V2, 9), 3, core.CodeManifestCorrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := copyTable(t, memWAL)
			put(t, l, lance.VersionsFolder(memWAL)+c.file, get(t, l, lance.BaseKey(memWAL, core.V2, c.like)))
			table, err := lance.ReadTable(t.Context(), l, memWAL)
			if c.code != core.CodeOK {
				wantCode(t, err, c.code)
				return
			}
			if err != nil || table.Base.Version != newest {
				t.Errorf("newest version %d (%v), want %d", table.Base.Version, err, newest)
			}
		})
	}
}

func TestABodyOfAnotherShardStopsThatShardAlone(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	shards := readTable(t, l, memWAL).Shards
	foreign := get(t, l, lance.ShardKey(memWAL, shards[1].Shard, shards[1].Version))
	put(t, l, lance.ShardKey(memWAL, shards[0].Shard, shards[0].Version), foreign)
	_, err := lance.ReadNewestShard(t.Context(), l, memWAL, shards[0].Shard)
	wantCode(t, err, core.CodeManifestCorrupt)
	if f := lance.FailureOf(err); f.Shard != shards[0].Shard {
		t.Errorf("the failure names shard %q, want %s", f.Shard, shards[0].Shard)
	}
	now := readTable(t, l, memWAL).Shards
	if len(now) != len(shards) || now[0].Torn == "" || now[0].Shard != shards[0].Shard || now[1].Torn != "" || len(now[1].SSTables) == 0 {
		t.Errorf("expected the first shard alone to be torn, got %+v", now)
	}
}

func TestAPathWithoutVersionsIsNoTable(t *testing.T) {
	t.Parallel()
	l := openLake(t, t.TempDir())
	_, err := lance.ReadTable(t.Context(), l, "db/events")
	wantCode(t, err, core.CodeTableMissing)
	put(t, l, "db/events.lance/data/x.lance", []byte("rows"))
	_, err = lance.ReadTable(t.Context(), l, "db/events")
	wantCode(t, err, core.CodeTableMissing)
}

func TestAShardWithoutAManifestIsNotOneYet(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	put(t, l, lance.ShardsFolder(memWAL)+"99999999-9999-4999-8999-999999999999/wal/1.arrow", []byte("wal"))
	put(t, l, lance.ShardsFolder(memWAL)+"not-a-shard/manifest/"+lance.ShardName(1), []byte("?"))
	if got := len(readTable(t, l, memWAL).Shards); got != 2 {
		t.Errorf("%d shards, want 2", got)
	}
}

func TestATransactionFileStandsInForAMissingInlineTransaction(t *testing.T) {
	t.Parallel()
	l := copyTable(t, memWAL)
	infos, err := l.List(t.Context(), memWAL.Path()+"/_transactions/")
	if err != nil || len(infos) == 0 {
		t.Fatalf("no transaction files: %v", err)
	}
	for _, info := range infos {
		tx, err := lance.ParseTransaction(info.Key, get(t, l, info.Key))
		if err != nil {
			t.Fatal(err)
		}
		b, err := lance.ReadBase(t.Context(), l, memWAL, core.V2, tx.ReadVersion+1)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(info.Key, "/"+b.TransactionFile) {
			t.Fatalf("version %d names %s, not %s", b.Facts.Version, b.TransactionFile, info.Key)
		}
		want := b.Facts
		b.Facts.Operation, b.Facts.ReadVersion = "", 0 // as Lance leaves it above 20 MiB
		if b, err = b.Resolve(t.Context(), l, memWAL); err != nil {
			t.Fatal(err)
		}
		if b.Facts.Operation != want.Operation || b.Facts.ReadVersion != want.ReadVersion {
			t.Errorf("v%d: %s from %d, want %s from %d", want.Version, b.Facts.Operation, b.Facts.ReadVersion, want.Operation, want.ReadVersion)
		}
	}
}
