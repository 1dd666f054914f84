package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRulesAndNamesAreTheSame(t *testing.T) {
	t.Parallel()
	const line = "\t./p\tTestA\tA sentence."
	for name, test := range map[string]struct{ rules, names, want string }{
		"both":              {"# comment\na" + line + "\nb" + line + "\n", `A Name = "a"; B Name = "b"`, ""},
		"no line":           {"a" + line, `A Name = "a"; B Name = "b"`, "no test guards the rule b"},
		"no name":           {"a" + line + "\nb" + line, `A Name = "a"`, "the rule b is not in"},
		"twice":             {"a" + line + "\na" + line, `A Name = "a"`, "line 2 names a again"},
		"a missing field":   {"a\t./p\tTestA", `A Name = "a"`, "line 1 has 3 fields"},
		"no regex":          {"a\t./p\tTest(\tA sentence.", `A Name = "a"`, "line 1"},
		"a computed name":   {"a" + line, `A Name = "a" + "b"`, "not a literal"},
		"names don't parse": {"a" + line, `A Name = `, "name.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rules, names := filepath.Join(dir, "rules.txt"), filepath.Join(dir, "name.go")
			write(t, rules, test.rules)
			write(t, names, "package guard\ntype Name string\nconst (\n"+test.names+"\n)\n")
			listed, err := readRules(rules)
			if err == nil {
				err = complete(listed, names)
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("expected %q, got %v", test.want, err)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
