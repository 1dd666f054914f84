package core

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEveryRecordTypeHasALayout: whatever the package decodes from the KV is in the list of layouts. It reads the
// source for that, since a type that somebody adds later is in no list that a test could go over.
func TestEveryRecordTypeHasALayout(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for l := range maps.Keys(layouts) {
		named[l.Name()] = true
	}
	seen := recordTypes(t)
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if !named[name] {
			t.Errorf("%s is a record and has no layout", name)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %v are found in the source", slices.Sorted(maps.Keys(seen)))
	}
}

// recordTypes are the types R that the source of the package names in Seen[R] and Decode[R].
func recordTypes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			index, ok := n.(*ast.IndexExpr)
			if !ok {
				return true
			}
			of, generic := index.X.(*ast.Ident)
			arg, plain := index.Index.(*ast.Ident)
			if generic && plain && slices.Contains([]string{"Seen", "Decode"}, of.Name) && arg.Name != "R" { // R is a parameter of a function
				out[arg.Name] = true
			}
			return true
		})
	}
	return out
}

// decodesAsJSON holds what [Decode] makes of any text to encoding/json: the same record or an error for both.
func decodesAsJSON[R any](t *rapid.T) {
	var r R
	fill(t, reflect.ValueOf(&r).Elem())
	written, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	text := spoil(t, string(written))
	got, err := Decode[R]("key", text)
	want, wantErr := slowly[R](text)
	if (err != nil) != (wantErr != nil) || err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\nis decoded as\n%+v (%v)\nencoding/json makes of it\n%+v (%v)", text, got, err, want, wantErr)
	}
	unknown := `{"nobody_knows":1,` + strings.TrimPrefix(string(written), "{")
	if _, err := Decode[R]("key", unknown); err == nil && strings.HasPrefix(string(written), "{") {
		t.Fatalf("a field that nobody knows is taken: %s", unknown)
	}
}

func TestSpoiledRecordsAreRefusedAsEncodingJSONWould(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(*rapid.T){
		"kv": decodesAsJSON[KVRecord], "table": decodesAsJSON[TableRecord], "owner": decodesAsJSON[ExecutionID],
		"execution": decodesAsJSON[Execution], "admitted": decodesAsJSON[Watermarks], "progress": decodesAsJSON[Progress],
		"demand": decodesAsJSON[Demand], "mode": decodesAsJSON[Latch], "policy": decodesAsJSON[Policy],
		"failure": decodesAsJSON[FailureRecord], "master": decodesAsJSON[MasterRecord], "worker": decodesAsJSON[WorkerRecord],
		"load": decodesAsJSON[Load], "history": decodesAsJSON[History], "takeover": decodesAsJSON[Takeover],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, check)
		})
	}
}
