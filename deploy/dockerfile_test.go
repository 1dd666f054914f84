// Package deploy_test checks the Dockerfile without Docker: it runs what can be run of its commands on the very
// files that it would copy, and compares the rest with what it has to agree with.
package deploy_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
)

// instruction is one of a Dockerfile.
type instruction struct{ name, rest string }

// stage begins with a FROM.
type stage struct {
	base, name string
	does       []instruction
}

// of are the arguments of the stage's instructions of one name.
func (s stage) of(name string) (all []string) {
	for _, i := range s.does {
		if i.name == name {
			all = append(all, i.rest)
		}
	}
	return all
}

func stages(t *testing.T) (all []stage) {
	t.Helper()
	text := read(t, "Dockerfile")
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.Join(strings.Fields(rest), " ")
		switch {
		case name == "" || name == "#":
		case name == "FROM":
			base, as, _ := strings.Cut(rest, " AS ")
			all = append(all, stage{base: base, name: as})
		case len(all) == 0:
			t.Fatalf("%s stands before every stage", line)
		default:
			last := &all[len(all)-1]
			last.does = append(last.does, instruction{name, rest})
		}
	}
	if len(all) != 3 {
		t.Fatalf("the Dockerfile has %d stages, expected those of Go, of Python and of the image", len(all))
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// contextFiles is what the .dockerignore lets through, as paths seen from the top of the repository.
func contextFiles(t *testing.T) (files []string) {
	t.Helper()
	var patterns []string
	for line := range strings.Lines(read(t, "Dockerfile.dockerignore")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			patterns = append(patterns, line)
		}
	}
	err := filepath.WalkDir("..", func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(at, "../"))
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || name == "bin") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && !ignored(name, patterns) {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ignored reports what the last pattern that matches says of a file, or of a folder that it lies in.
func ignored(name string, patterns []string) (ignored bool) {
	for _, pattern := range patterns {
		pattern, kept := strings.CutPrefix(pattern, "!")
		anywhere, deep := strings.CutPrefix(pattern, "**/")
		for at := name; at != "."; at = path.Dir(at) {
			against := at
			if deep {
				against = path.Base(at)
			}
			if ok, err := path.Match(anywhere, against); ok && err == nil {
				ignored = !kept
				break
			}
		}
	}
	return ignored
}

func TestTheImageIsBuiltOfTheFilesThatItCopies(t *testing.T) {
	t.Parallel()
	all := stages(t)
	source := t.TempDir()
	for _, name := range contextFiles(t) {
		to := filepath.Join(source, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(read(t, filepath.Join("..", name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(source, "python/requirements.lock")); err != nil {
		t.Errorf("the context lacks the requirements: %v", err)
	}
	runs := all[0].of("RUN")
	build := runs[len(runs)-1]
	const sets, trims = "CGO_ENABLED=0 ", "-trimpath "
	if !strings.Contains(build, sets) || !strings.Contains(build, trims) {
		t.Fatalf("the line that builds is %q", build)
	}
	// Everything is there that a build without C takes.
	run(t, source, []string{"CGO_ENABLED=0"}, "go list -deps ./cmd/sluice > /dev/null")
	// The same line, but for two settings by which each package of the world would be compiled anew.
	built := filepath.Join(t.TempDir(), "sluice")
	line := strings.NewReplacer(sets, "", trims, "", "/out/sluice", "'"+built+"'").Replace(build)
	run(t, source, []string{"VERSION=v1.2.3-image"}, line)

	final := all[2]
	entry, arguments := list(t, final.of("ENTRYPOINT")), list(t, final.of("CMD"))
	if entry[0] != "/usr/local/bin/sluice" || !slices.Contains(final.of("COPY"), "--from=build /out/sluice "+entry[0]) {
		t.Errorf("the image runs %v, and has %q", entry, final.of("COPY"))
	}
	if said := run(t, source, nil, "'"+built+"' "+strings.Join(append(entry[1:], arguments...), " ")); !strings.Contains(said, "worker") {
		t.Errorf("the image says at its start: %s", said)
	}
	if said := run(t, source, nil, "'"+built+"' version"); !strings.Contains(said, "v1.2.3-image") {
		t.Errorf("its version is %s", said)
	}
}

// list reads the one JSON array that an instruction has: without a shell the process gets the signals itself.
func list(t *testing.T, given []string) (words []string) {
	t.Helper()
	if len(given) != 1 || json.Unmarshal([]byte(given[0]), &words) != nil || len(words) == 0 {
		t.Fatalf("%q is no single list of words", given)
	}
	return words
}

func run(t *testing.T, dir string, env []string, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, said)
	}
	return string(said)
}

func TestTheImagesPythonIsTheLockedOne(t *testing.T) {
	t.Parallel()
	all := stages(t)
	python, final := all[1], all[2]
	if python.base != final.base {
		t.Errorf("the environment is made on %s and runs on %s", python.base, final.base)
	}
	const venv = "/opt/sluice/venv"
	if !slices.Contains(python.of("COPY"), "python/requirements.lock /requirements.lock") ||
		!slices.Contains(final.of("COPY"), "--from="+python.name+" "+venv+" "+venv) {
		t.Errorf("the lock or the environment is not copied: %q, %q", python.of("COPY"), final.of("COPY"))
	}
	if want := engine.PythonEnv + "=" + venv + "/bin/python"; !slices.Contains(final.of("ENV"), want) {
		t.Errorf("the engine finds no Python: %q, expected %s", final.of("ENV"), want)
	}
	making, installing, _ := strings.Cut(strings.Join(python.of("RUN"), " "), " && ")
	if making != "python -m venv "+venv {
		t.Errorf("the environment is made by %q", making)
	}
	// What scripts/venv says to pip, the image says too: each file by its hash, and nothing compiled.
	for _, option := range []string{"--require-hashes", "--only-binary :all:", "--requirement"} {
		if !strings.Contains(read(t, "../scripts/venv"), option) || !strings.Contains(installing, option) {
			t.Errorf("%s is missing in scripts/venv or in %q", option, installing)
		}
	}
	if !strings.HasSuffix(installing, "--requirement /requirements.lock") || !strings.HasPrefix(installing, venv+"/bin/python -m pip install ") {
		t.Errorf("it installs by %q", installing)
	}
}

func TestTheImageFitsTheModuleAndTheManifests(t *testing.T) {
	t.Parallel()
	all := stages(t)
	// golang:1.26-bookworm for `go 1.26.0`.
	_, tag, _ := strings.Cut(all[0].base, ":")
	version, _, _ := strings.Cut(tag, "-")
	if module := read(t, "../go.mod"); version == "" || !strings.Contains(module, "\ngo "+version+".") {
		t.Errorf("it is built with Go %q, and go.mod wants another", version)
	}
	final := all[2]
	user := final.of("USER")
	if len(user) != 1 {
		t.Fatalf("the users are %q", user)
	}
	uid, gid, _ := strings.Cut(user[0], ":")
	n, err := strconv.Atoi(uid)
	if err != nil || n == 0 || gid != uid || !strings.Contains(strings.Join(final.of("RUN"), " "), "useradd --uid "+uid+" ") {
		t.Errorf("it runs as %q; a number is needed by which Kubernetes sees that it isn't root", user)
	}
	exposed := map[string]bool{}
	for _, port := range strings.Fields(strings.Join(final.of("EXPOSE"), " ")) {
		exposed["containerPort: "+port] = true
	}
	for _, name := range []string{"master.yaml", "worker.yaml"} {
		text := read(t, "kubernetes/"+name)
		if !strings.Contains(text, "runAsUser: "+uid+"\n") {
			t.Errorf("%s runs the image as somebody else than %s", name, uid)
		}
		for line := range strings.Lines(text) {
			if port := strings.TrimSpace(line); strings.HasPrefix(port, "containerPort: ") && !exposed[port] {
				t.Errorf("%s has the %s, and the image exposes %v", name, port, slices.Collect(maps.Keys(exposed)))
			}
		}
	}
}
