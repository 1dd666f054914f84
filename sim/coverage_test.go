package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

// unreached is what a standard batch can't come to, with the reason why that is no gap of the simulator.
var unreached = map[string]string{
	"phase ":               "no execution",
	"rule not-yours":       "a worker asks for the execution by its table first",
	"rule storage-timeout": "the gate's own, told to engines and never to a machine",
	"rule foreign-marks":   "the gate judges clients itself, and the world decides nothing for it",

	// Rules about keys: the world has versions, and no files.
	"rule malformed-key": "", "rule sluice-hidden": "", "rule other-table": "", "rule read-only": "", "rule place": "",
	"rule if-none-match-only": "", "rule multipart-manifest": "", "rule new-names-only": "", "rule no-delete": "",
	"rule table-in-use": "", "rule revoked": "", "rule hold-hung-up": "", "rule read-back": "", "rule unreadable-body": "",
	"rule held-too-long": "",
}

// standardBatch is how many seeds, of an hour each, have to come to everything else.
const standardBatch = 90

// standard is the profile of a seed of the batch: as it is drawn, but for half of them, in which plots are set all
// the time and little else gets in their way, one of six, in which many engines do what they may not, and another one,
// whose tables are maintained all the time.
func standard(seed uint64) *Profile {
	p := newProfile(seed, 1)
	switch seed % 6 {
	case 0, 1, 3:
		p.Rates.Plot, p.Rates.Every = 1000, 4*p.Rates.Every
	case 2:
		p.Rates.Engine = 500
	case 4:
		p.Rates.Plot, p.Rates.Every = 1000, 4*p.Rates.Every
		p.Upkeep = Upkeep{
			Kinds: []core.Kind{core.KindCleanup, core.KindCompact, core.KindIndex}, Every: time.Minute, Small: 2,
			Graces: core.Graces{Reader: time.Minute, Retention: time.Minute}, Tags: 5, Users: 40, Indexed: seed%4 == 0,
		}
	}
	return &p
}

// TestAStandardBatchReachesWhatItMust runs a fixed batch and looks what it has never come to: an event, an effect,
// a transaction, a reason, a phase or a rule that core has, a thing that may happen to the world, or a situation
// that somebody has called rare. The lists are read from the sources, so that nothing new is forgotten.
func TestAStandardBatchReachesWhatItMust(t *testing.T) {
	t.Parallel()
	reached, mu := coverage{}, sync.Mutex{}
	next := atomic.Uint64{}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := next.Add(1); seed <= standardBatch; seed = next.Add(1) {
				res := Run(Options{Seed: seed, Hours: 1, Profile: standard(seed), CheckTime: 1})
				mu.Lock()
				for k, n := range res.Coverage {
					reached[k] += n
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	must := append(coreHas(t), worldHas(t)...)
	for _, want := range must {
		if _, can := unreached[want]; !can && reached[want] == 0 {
			t.Errorf("%d seeds never come to %q", standardBatch, want)
		}
	}
	for _, name := range sortedKeys(unreached) {
		if reached[name] > 0 && name != "phase " {
			t.Errorf("%q is reached; take it out of the list of what is not", name)
		}
	}
	if len(must) < 120 {
		t.Errorf("only %d things to reach were read from the sources", len(must))
	}
}

// coreHas are the kinds of everything that goes into core's machines, comes out of them or is recorded.
func coreHas(t *testing.T) (all []string) {
	for _, f := range sources(t, "../core") {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl: // func (Tick) event() {}
				if n.Recv != nil && (n.Name.Name == "event" || n.Name.Name == "effect") {
					all = append(all, n.Name.Name+" "+n.Recv.List[0].Type.(*ast.Ident).Name)
				}
			case *ast.KeyValueExpr: // Txn{Name: "admit", …}
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Name" {
					if name, ok := text(n.Value); ok {
						all = append(all, "transaction "+name)
					}
				}
			case *ast.ValueSpec: // RuleMarks Rule = "marks"
				if kind, ok := n.Type.(*ast.Ident); ok && len(n.Values) == 1 {
					if name, isText := text(n.Values[0]); isText && strings.Contains("Reason Phase Rule", kind.Name) {
						all = append(all, strings.ToLower(kind.Name)+" "+name)
					}
				}
			}
			return true
		})
	}
	return all
}

// worldHas are the situations that the simulator itself calls rare, and what may happen to the world.
func worldHas(t *testing.T) (all []string) {
	for _, f := range sources(t, ".") {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "rare" {
				if name, ok := text(call.Args[0]); ok {
					all = append(all, "rare: "+name)
				}
			}
			return true
		})
	}
	r := newRun(newProfile(1, 1), newSource(1), nil)
	for _, th := range r.things(1) {
		all = append(all, "fault: "+th.name)
	}
	for _, kind := range []string{"StartRequested", "CancelRequested", "StatusRequested"} {
		all = append(all, "rare: a request to a worker arrives twice: "+kind, "rare: a request arrived and its answer does not come back: "+kind)
	}
	return append(all, "rare: a fence lands", "rare: an adoption lands", "rare: a kv request took effect and its answer got lost", "merged")
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// sources are the files of a package, without its tests.
func sources(t *testing.T, dir string) (files []*ast.File) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	for _, name := range names { // sorted
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
