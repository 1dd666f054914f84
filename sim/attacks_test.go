package sim

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAttacksAreHeldToByWhatTheDocumentNames reads docs/attacks.md: the stories, planted mistakes, guarded rules and
// tests that it names must be there, and each attack must be held to by one of them.
func TestAttacksAreHeldToByWhatTheDocumentNames(t *testing.T) {
	t.Parallel()
	text := read(t, "../docs/attacks.md")
	planted, rules := firsts(read(t, "planted.txt")), firsts(read(t, "../guard/rules.txt"))
	tests := goTests(t, "../adapters", "../core", "../cmd", ".")
	quoted, row := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`^\| ([a-z0-9-]+) \|[^|]*\|(.*)\|$`)
	attacks := 0
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		m := row.FindStringSubmatch(s.Text())
		if m == nil || m[1] == "attack" || strings.HasPrefix(m[1], "-") {
			continue
		}
		attacks++
		held := 0
		for _, part := range strings.Split(m[2], ";") {
			for _, name := range quoted.FindAllStringSubmatch(part, -1) {
				_, err := os.Stat(filepath.Join("testdata/scenarios", name[1]+".txt"))
				there := strings.Contains(part, "planted") && planted[name[1]] ||
					strings.Contains(part, "guard") && rules[name[1]] ||
					(strings.Contains(part, "story ") || strings.Contains(part, "stories ")) && err == nil || tests[name[1]]
				if held++; !there {
					t.Errorf("%s: %q is named in %q and isn't there", m[1], name[1], strings.TrimSpace(part))
				}
			}
		}
		if held == 0 {
			t.Errorf("nothing holds to %s", m[1])
		}
	}
	if attacks != 48 {
		t.Errorf("%d attacks were read", attacks)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// firsts are the first words of lines with tabs.
func firsts(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		name, _, _ := strings.Cut(line, "\t")
		out[name] = true
	}
	return out
}

// goTests are the names of the tests under some directories.
func goTests(t *testing.T, dirs ...string) map[string]bool {
	t.Helper()
	out, name := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(t `)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_test.go") {
				for _, m := range name.FindAllStringSubmatch(read(t, path), -1) {
					out[m[1]] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
