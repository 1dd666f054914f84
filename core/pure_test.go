package core_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// pureImports are all that core and guard may import: packages that compute and do nothing else. Adding to
// this list needs the same look at a package as at our own code.
var pureImports = map[string]bool{
	"cmp": true, "fmt": true, "math": true, "slices": true, "strings": true, "strconv": true, "unicode/utf8": true,
	"encoding/json": true, "reflect": true, "net/url": true, "hash/fnv": true, "time": true,
	"github.com/sluice-data/sluice/guard": true,
}

// simImports are what the simulator may import beside that: chance with a seed, its traces, and the checker
// of histories, which comes after a run and takes no part in it.
var simImports = map[string]bool{
	"iter": true, "maps": true, "math": true, "math/rand/v2": true, "runtime/debug": true, "bufio": true, "io": true, "embed": true,
	"github.com/anishathalye/porcupine": true, "github.com/sluice-data/sluice/core": true,
}

// decisions are functions of core that decide. The simulator asks the machines, never one of these: a world
// that decides for itself would agree with its own mistake.
var decisions = []string{
	"Reserve", "Start", "Admit", "Finish", "Freeze", "FinishRecovery", "Release", "Started", "Judge", "JudgeName", "JudgeBody",
	"JudgeClient", "EffectiveMode", "PlanPass", "NextFence", "SameTable", "SameIdentity", "Stand", "KnownHistory", "Adoptable",
	"BeginAdoption", "EndAdoption", "AdoptionSteps", "Charge", "Attend", "SetLatch", "PostDemand",
}

// impureNames are what the allowed packages have that acts: clocks, timers and standard streams.
var impureNames = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "LoadLocation"},
	"rand": {"Int", "IntN", "Int64N", "Uint64", "Float64", "Perm", "Shuffle", "N"},
	"maps": {"Keys", "Values", "All"},
	"core": decisions,
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln", "Fprint", "Fprintln"},
}

// unorderedRanges are the ranges over maps that may stay, by function, with the reason why the order of the
// map can't be seen.
var unorderedRanges = map[string]string{
	"sortedKeys": "sorts the keys before anybody sees them",
	"soonest":    "takes the least of them, which is the same in every order",
	"anyBroken":  "asks whether one key exists",
}

// TestCoreIsPure holds core, and the simulator around it, to their first promise: the same events give the same effects. It does no I/O,
// reads no clock, draws no random number, starts no goroutine and never depends on the order of a map.
func TestCoreIsPure(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "../guard", "../sim"} {
		set := token.NewFileSet()
		files := parseDir(t, set, dir)
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: importer.ForCompiler(set, "source", nil), Error: func(error) {}}
		// What can't be resolved here is resolved by the compiler; what counts is the standard library.
		_, _ = conf.Check("checked", set, files, info)
		for _, f := range files {
			checkImports(t, f, dir == "../sim")
			checkBody(t, set, f, info)
		}
	}
}

func parseDir(t *testing.T, set *token.FileSet, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		t.Fatalf("no files in %s", dir)
	}
	return files
}

func checkImports(t *testing.T, f *ast.File, sim bool) {
	t.Helper()
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if pure := pureImports[path] || sim && simImports[path]; !pure {
			t.Errorf("imports %s, which is not on the list of packages that only compute", path)
		}
	}
}

func checkBody(t *testing.T, set *token.FileSet, f *ast.File, info *types.Info) {
	t.Helper()
	function := ""
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			function = n.Name.Name
			if function == "init" {
				t.Errorf("%s: init runs without being called", set.Position(n.Pos()))
			}
		case *ast.GoStmt:
			t.Errorf("%s: starts a goroutine", set.Position(n.Pos()))
		case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			t.Errorf("%s: uses a channel", set.Position(n.Pos()))
		case *ast.RangeStmt:
			if _, isMap := under(info, n.X).(*types.Map); isMap && unorderedRanges[function] == "" {
				t.Errorf("%s: %s ranges over a map; use sortedKeys", set.Position(n.Pos()), function)
			}
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, name := range impureNames[pkg.Name] {
				if n.Sel.Name == name {
					t.Errorf("%s: calls %s.%s", set.Position(n.Pos()), pkg.Name, name)
				}
			}
		}
		return true
	})
}

func under(info *types.Info, x ast.Expr) types.Type {
	if t := info.Types[x].Type; t != nil {
		return t.Underlying()
	}
	return nil
}
