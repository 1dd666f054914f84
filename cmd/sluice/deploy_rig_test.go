package main_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	main "github.com/sluice-data/sluice/cmd/sluice"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/rest"
)

// What the files under deploy/ say is checked against the binary: its flags, variables, paths and ports.

// deployed are the files of a folder under deploy/, by their names.
func deployed(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := filepath.Join("../../deploy", folder)
	entries, err := os.ReadDir(root)
	must(t, err)
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(root, e.Name()))
		must(t, err)
		out[e.Name()] = string(body)
	}
	return out
}

// problems collects what is wrong.
type problems []string

func (p *problems) addf(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// knownVariable reports whether this program, or the AWS client in it, reads a variable.
func knownVariable(name string) bool {
	return slices.Contains(main.Variables, name) || name == engine.PythonEnv ||
		slices.Contains([]string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3"}, name)
}

// commandLine parses arguments as the binary does, and returns the value of each flag that is given.
func (p *problems) commandLine(where string, args []string) map[string]string {
	out := map[string]string{}
	c, rest, err := main.RootCommand().Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		p.addf("%s: the binary refuses %v: %v", where, args, err)
		return out
	}
	if left := c.Flags().Args(); len(left) > 0 || !c.HasParent() {
		p.addf("%s: %v are no flags of %q", where, left, c.CommandPath())
	}
	for _, arg := range rest {
		if name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "="); ok {
			out[name] = value
		}
	}
	return out
}

// served are the paths of a kind of process, as its own description lists them.
func served(t *testing.T, kind string) string {
	t.Helper()
	h := rest.NewHandler(rest.Config{})
	if kind == "worker" {
		h = rest.NewExecutorHandler(rest.ExecutorConfig{})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"/healthz"`) {
		t.Fatalf("the description of a %s's API: %d %s", kind, w.Code, w.Body)
	}
	return w.Body.String()
}

// mistakes are replacements in files, each of which must be noticed.
type mistakes map[string]struct{ file, old, new, words string }

// wantNoticed checks that there are no problems, and that each mistake makes one.
func wantNoticed(t *testing.T, files map[string]string, check func(files map[string]string) problems, all mistakes) {
	t.Helper()
	for _, p := range check(files) {
		t.Error(p)
	}
	for name, m := range all {
		text := files[m.file]
		changed := map[string]string{}
		for file, body := range files {
			changed[file] = body
		}
		if changed[m.file] = regexp.MustCompile(m.old).ReplaceAllString(text, m.new); changed[m.file] == text {
			t.Errorf("%s: %s has no %q", name, m.file, m.old)
			continue
		}
		if found := strings.Join(check(changed), "\n"); !strings.Contains(found, m.words) {
			t.Errorf("%s: it is not noticed: expected %q in %q", name, m.words, found)
		}
	}
}
