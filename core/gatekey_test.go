package core_test

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/core"
)

func TestClassifyJudgesAKeyByItsWholePath(t *testing.T) {
	t.Parallel()
	const shard = "t.lance/_mem_wal/5baabb7a/"
	for _, c := range []struct {
		key    string
		kind   core.KeyKind
		target core.Target
	}{
		{"t.lance/_versions/18446744073709551610.manifest", core.KeyBaseManifest, "t"},
		{"db/t.lance/_versions/7.manifest", core.KeyBaseManifest, "db/t"},
		{"t.lance/_versions/d9223372036854775810.manifest", core.KeyVersionsOther, "t"},
		{"t.lance/_versions/latest_version_hint.json", core.KeyVersionsOther, "t"},
		{"t.lance/_versions/x/7.manifest", core.KeyMalformed, ""},
		{"t.lance/_versions/0/d7.manifest", core.KeyMalformed, ""},
		{"t.lance/_transactions/6-ab.txn", core.KeyTransaction, "t"},
		{"t.lance/_transactions/6-ab", core.KeyTableOther, "t"},
		{"t.lance/data/a.lance", core.KeyData, "t"},
		{"t.lance/_deletions/a.arrow", core.KeyData, "t"},
		{"t.lance/_indices/u/index.idx", core.KeyData, "t"},
		{"t.lance/_refs/tags/x.json", core.KeyRefs, "t"},
		{"t.lance/tree/b/_versions/7.manifest", core.KeyRefs, "t"},
		{shard + "manifest/" + strings.Repeat("0", 64) + ".binpb", core.KeyShardManifest, "t"},
		{shard + "manifest/version_hint.json", core.KeyShardHint, "t"},
		{shard + "wal/1.arrow", core.KeyWAL, "t"},
		{shard + "g_gen_1/_versions/7.manifest", core.KeySSTableManifest, "t"},
		{shard + "g_gen_1/data/a.lance", core.KeySSTable, "t"},
		{"t.lance/a.lance/_versions/7.manifest", core.KeyTableOther, "t"},
		{"t.lance/file", core.KeyTableOther, "t"},
		{"t.lance", core.KeyOutside, ""},
		{"db/loose", core.KeyOutside, ""},
		{"db/_sluice/x", core.KeyOutside, ""},
		{"_sluice/lake.json", core.KeySluice, ""},
		{"_sluice", core.KeySluice, ""},
		{"a%20b.lance/data/a.lance", core.KeyData, "a%20b"},
		{"100%.lance/data/a.lance", core.KeyData, "100%"},

		{"", core.KeyMalformed, ""},
		{"/t.lance/data/a", core.KeyMalformed, ""},
		{"t.lance//data/a", core.KeyMalformed, ""},
		{"t.lance/data/", core.KeyMalformed, ""},
		{"t.lance/./data/a", core.KeyMalformed, ""},
		{"t.lance/data/../_versions/7.manifest", core.KeyMalformed, ""},
		{"t.lance/data/a\x00", core.KeyMalformed, ""},
		{".lance/data/a", core.KeyMalformed, ""},
		{"_SLUICE/lake.json", core.KeyMalformed, ""},
		{"t.lance/_Versions/7.manifest", core.KeyMalformed, ""},
		{"t.lance/_versions%2F7.manifest", core.KeyMalformed, ""},
		{"t.lance/_versions%252F7.manifest", core.KeyMalformed, ""},
		{"t.lance/%5fversions/7.manifest", core.KeyMalformed, ""},
		{"%5fsluice/lake.json", core.KeyMalformed, ""},
		{"t.lance/data/%2e%2e/x", core.KeyMalformed, ""},
		{"t.lance/_versions/007.manifest", core.KeyMalformed, ""},
		{"t.lance/_versions/+7.manifest", core.KeyMalformed, ""},
		{"t.lance/_versions/x7manifest", core.KeyMalformed, ""},
		{"t.lance/_versions/99999999999999999999.manifest", core.KeyMalformed, ""},
	} {
		if k := core.Classify(c.key); k.Kind != c.kind || k.Target != c.target {
			t.Errorf("Classify(%q) = %s of %q, want %s of %q", c.key, k.Kind, k.Target, c.kind, c.target)
		}
	}
}

func TestParseManifestNameTakesTheOneCanonicalName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]core.ManifestName{
		"1.manifest":                    {Version: 1, Scheme: core.V1},
		"0.manifest":                    {Version: 0, Scheme: core.V1},
		"18446744073709551614.manifest": {Version: 1, Scheme: core.V2},
		"18446744073709551615.manifest": {Version: 0, Scheme: core.V2},
		"00000000000000000001.manifest": {Version: 1<<64 - 2, Scheme: core.V2},
	} {
		if got, ok := core.ParseManifestName(name); !ok || got != want {
			t.Errorf("%s: %+v, %t; want %+v", name, got, ok, want)
		}
	}
	for _, name := range []string{"", ".manifest", "01.manifest", "-1.manifest", "1", "1.manifest.tmp", "18446744073709551616.manifest", "١.manifest"} {
		if got, ok := core.ParseManifestName(name); ok {
			t.Errorf("%q is taken for %+v", name, got)
		}
	}
}
