package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/adapters/bolt"
	"github.com/sluice-data/sluice/adapters/kv"
	"github.com/sluice-data/sluice/adapters/lake"
)

// Bad input gives one line that says what and what to do, an exit code, and changes nothing in the lake.
func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// prepare makes the lake worse, or returns another command line than `merge --lake LAKE db/events`.
		prepare func(t *testing.T, lake string) (args []string)
		code    int
		words   []string
	}{
		"no Python": {
			func(_ *testing.T, lake string) []string {
				return []string{"merge", "--lake", lake, "--python", "/nowhere/python", "db/events"}
			}, 1, []string{"E_ENGINE_MISSING", "/nowhere/python", "make .venv"},
		},
		"a wrong pylance": {
			func(t *testing.T, lake string) []string {
				fake := filepath.Join(t.TempDir(), "python")
				must(t, os.WriteFile(fake, []byte("#!/bin/sh\necho 3.12 1 13.0.1\n"), 0o755))
				return []string{"merge", "--lake", lake, "--python", fake, "db/events"}
			}, 1, []string{"E_ENGINE_MISSING", "13.0.1", "14.0.2", "make .venv"},
		},
		"a lake that doesn't exist": {
			func(_ *testing.T, lake string) []string { return []string{"merge", "--lake", lake + "x", "db/events"} },
			1, []string{"does not exist", "create the directory"},
		},
		"a file instead of a directory": {
			func(_ *testing.T, lake string) []string {
				return []string{"dev", "--lake", filepath.Join(lake, "db/events.lance/_versions", newestManifest(lake))}
			}, 1, []string{"is a file", "pass the directory"},
		},
		"a lake of another KV": {
			func(t *testing.T, lake string) []string {
				claim(t, lake)
				other := newLake(t)
				claim(t, other)
				replace(t, filepath.Join(other, "_sluice/lake.json"), filepath.Join(lake, "_sluice/lake.json"))
				return nil
			}, 1, []string{"belongs to the KV", "use that KV"},
		},
		"the state of another lake": {
			func(t *testing.T, lake string) []string {
				other := newLake(t)
				claim(t, other)
				must(t, os.CopyFS(filepath.Join(lake, "_sluice"), os.DirFS(filepath.Join(other, "_sluice"))))
				return nil
			}, 1, []string{"belongs to the lake file://", "moved or copied"},
		},
		"a lake whose state file is gone": {
			func(t *testing.T, lake string) []string {
				claim(t, lake)
				must(t, os.Remove(filepath.Join(lake, "_sluice/state.db")))
				return nil
			}, 1, []string{"state file", "is gone", "put it back", "sluice adopt"},
		},
		"a damaged state file": {
			func(t *testing.T, lake string) []string {
				claim(t, lake)
				must(t, os.WriteFile(filepath.Join(lake, "_sluice/state.db"), []byte("hello"), 0o600))
				return nil
			}, 1, []string{"state.db", "damaged"},
		},
		"a state file that somebody else holds": {
			func(t *testing.T, lake string) []string {
				s, err := bolt.Open(t.Context(), mkdir(t, lake, "_sluice/state.db"))
				must(t, err)
				t.Cleanup(func() { must(t, s.Close()) })
				return nil
			}, 1, []string{"state.db", "in use by another sluice process"},
		},
		"a lake that names no KV": {
			func(t *testing.T, lake string) []string {
				must(t, os.WriteFile(mkdir(t, lake, "_sluice/lake.json"), []byte("{}"), 0o644))
				return nil
			}, 1, []string{"names no KV", "restore it"},
		},
		"a lake inside a lake": {
			func(t *testing.T, lake string) []string {
				claim(t, lake)
				return []string{"merge", "--lake", filepath.Join(lake, "db"), "events"}
			}, 1, []string{"lies inside another lake"},
		},
		"a lake that can't take our files": {
			func(t *testing.T, lake string) []string {
				must(t, os.WriteFile(filepath.Join(lake, "_sluice"), nil, 0o644))
				return nil
			}, 1, []string{"_sluice is no directory", "move it away"},
		},
		"a path that is no table": {
			func(t *testing.T, lake string) []string {
				must(t, os.MkdirAll(filepath.Join(lake, "notes.lance"), 0o755))
				return []string{"merge", "--lake", lake, "notes"}
			}, 1, []string{"E_TABLE_MISSING", "no Lance table"},
		},
		"a table without a MemWAL": {
			func(t *testing.T, lake string) []string {
				copyTable(t, "../../testdata/lance/storage_2_1.lance", lake, "plain")
				return []string{"merge", "--lake", lake, "plain"}
			}, 1, []string{"E_NO_MEMWAL", "LSM write spec"},
		},
		"a table without a primary key": {
			func(t *testing.T, lake string) []string {
				tableWithoutKey(t, filepath.Join(lake, "nokey.lance"))
				return []string{"merge", "--lake", lake, "nokey"}
			}, 1, []string{"E_NO_PRIMARY_KEY", "set an unenforced primary key"},
		},
		"adopting a table without a primary key": {
			func(t *testing.T, lake string) []string {
				tableWithoutKey(t, filepath.Join(lake, "nokey.lance"))
				return []string{"adopt", "--lake", lake, "nokey"}
			}, 1, []string{"E_NO_PRIMARY_KEY"},
		},
		"a name that leaves the lake": {
			func(_ *testing.T, lake string) []string { return []string{"merge", "--lake", lake, "db/../events"} },
			2, []string{`".."`, "for example db/events"},
		},
		"a port in use": {
			func(t *testing.T, lake string) []string {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				must(t, err)
				t.Cleanup(func() { l.Close() })
				return []string{"dev", "--lake", lake, "--http", l.Addr().String()}
			}, 1, []string{"can't listen", "--http"},
		},
		"a corrupt manifest": {
			func(t *testing.T, lake string) []string {
				path := filepath.Join(lake, "db/events.lance/_versions", newestManifest(lake))
				must(t, os.Truncate(path, 40))
				return nil
			}, 1, []string{"E_MANIFEST_CORRUPT", "db/events.lance/_versions/"},
		},
		"an SSTable that is missing": {
			func(t *testing.T, lake string) []string {
				gone, err := filepath.Glob(filepath.Join(lake, "db/events.lance/_mem_wal/*/*_gen_3"))
				must(t, err)
				must(t, os.RemoveAll(gone[0]))
				return nil
			}, 1, []string{"E_SSTABLE_MISSING", "generation 3 of shard", "put it back"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := newLake(t, "db/events")
			args := c.prepare(t, lake)
			if args == nil {
				args = []string{"merge", "--lake", lake, "db/events"}
			}
			before := fingerprint(t, filepath.Dir(lake))
			o := sluice(t, args...)
			o.want(t, c.code, c.words...)
			o.wantOneLine(t)
			if fingerprint(t, filepath.Dir(lake)) != before {
				t.Error("the lake was changed")
			}
		})
	}
}

// A file system without hard links is made by a filter of the kernel's: link(2) fails as it does there.
func TestALakeWithoutPutIfAbsentIsRefusedAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "db/events")
	before := fingerprint(t, lake)
	c := command(t.Context(), nil, "merge", "--lake", lake, "db/events")
	c.Args = append([]string{python, "testdata/without_links.py", binary}, c.Args[1:]...)
	c.Path = python
	o := finish(t, c)
	o.want(t, 1, "probe lake", "operation not permitted", "put the lake on a file system with hard links")
	o.wantOneLine(t)
	if fingerprint(t, lake) != before {
		t.Error("the lake was changed")
	}
}

func TestAWrongCommandLineIsOneLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		words string
	}{
		"a command that doesn't exist": {[]string{"frobnicate"}, "sluice --help"},
		"a flag that doesn't exist":    {[]string{"merge", "--force", "x"}, "sluice merge --help"},
		"no lake":                      {[]string{"merge", "db/events"}, "--lake is missing"},
		"no table":                     {[]string{"merge", "--lake", "."}, "takes one table"},
		"two tables":                   {[]string{"adopt", "--lake", ".", "a", "b"}, "takes one table"},
		"an argument too many":         {[]string{"version", "x"}, "takes no argument"},
		"a wildcard":                   {[]string{"dev", "--lake", ".", "--owned", "db/*"}, "name each table exactly"},
		"a bad name among the owned":   {[]string{"dev", "--lake", ".", "--owned", "a,../b"}, `".."`},
		"a bad name to drain":          {[]string{"dev", "--lake", ".", "--drain", "a.lance"}, ".lance"},
		"an address beyond this host":  {[]string{"dev", "--lake", ".", "--http", "0.0.0.0:80"}, "127.0.0.1 only"},
		"a mode that doesn't exist":    {[]string{"mode", "--lake", ".", "x", "sideways"}, "use direct, owned or draining"},
		"a table without its mode":     {[]string{"mode", "--lake", ".", "x"}, "takes one table and its mode"},
		"neither a lake nor a master":  {[]string{"mode", "x", "owned"}, "--lake or --http is missing"},
		"both a lake and a master":     {[]string{"failures", "--lake", ".", "--http", "http://127.0.0.1:1"}, "don't go together"},
		"a master without a scheme":    {[]string{"failures", "--http", "127.0.0.1:8080"}, "http://HOST:PORT"},
		"a policy that isn't there":    {[]string{"policy", "--lake", ".", "x", "--set", "nowhere.json"}, "--set: open nowhere.json"},
		"a policy that is no policy":   {[]string{"policy", "--lake", ".", "x", "--set", "fleet_test.go"}, "is no policy"},
		"a table and a worker":         {[]string{"drain", "--lake", ".", "--worker", "w1", "x"}, "takes no argument"},
		"nothing to drain":             {[]string{"drain", "--lake", "."}, "takes one table"},
		"a worker with a slash":        {[]string{"drain", "--lake", ".", "--worker", "a/b"}, "no slash"},
		"failures of two tables":       {[]string{"failures", "--lake", ".", "a", "b"}, "one table at most"},
		"nobody to forget":             {[]string{"failures", "--lake", ".", "--forget", ""}, "takes the name of an endpoint"},
		"a time limit of nothing":      {[]string{"merge", "--lake", ".", "--no-progress", "0s", "x"}, "must be above 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sluice(t, c.args...)
			o.want(t, 2, c.words)
			o.wantOneLine(t)
		})
	}
}

// claim makes a state file and a claim, as a process that has served the lake leaves them.
func claim(t *testing.T, dir string) {
	t.Helper()
	l, err := lake.OpenLocal(dir)
	must(t, err)
	defer l.Close()
	s, err := bolt.Open(t.Context(), mkdir(t, dir, "_sluice/state.db"))
	must(t, err)
	id, err := kv.Identify(t.Context(), s, l.URI())
	must(t, err)
	must(t, lake.Claim(t.Context(), l, id.ID))
	must(t, s.Close())
}

func mkdir(t *testing.T, dir, path string) string {
	t.Helper()
	path = filepath.Join(dir, path)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	return path
}

func replace(t *testing.T, from, to string) {
	t.Helper()
	body, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, body, 0o644))
}

// newestManifest is the one that sorts first.
func newestManifest(lake string) string {
	entries, err := os.ReadDir(filepath.Join(lake, "db/events.lance/_versions"))
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".manifest" {
			return e.Name()
		}
	}
	panic("no manifest")
}

// tableWithoutKey makes a table that has a MemWAL and no primary key.
func tableWithoutKey(t *testing.T, path string) {
	t.Helper()
	script := `import sys, lance, pyarrow as pa
lance.write_dataset(pa.table({"id": [1, 2]}), sys.argv[1]).initialize_mem_wal(unsharded=True)`
	if said, err := exec.CommandContext(t.Context(), python, "-c", script, path).CombinedOutput(); err != nil {
		t.Fatalf("make a table without a key: %v: %s", err, said)
	}
}
