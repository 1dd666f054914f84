package main_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/engine"
)

// directives are those of systemd that our units use, by section: a name that is misspelt is only a warning in
// a journal, and what it should have forbidden is allowed.
var directives = map[string]string{
	"Unit": "Description Documentation Wants After",
	"Service": `Type User Group EnvironmentFile LoadCredential ExecStart Restart RestartSec KillMode TimeoutStopSec
		LimitNOFILE MemoryMax OOMPolicy CapabilityBoundingSet NoNewPrivileges ProtectSystem ProtectHome PrivateTmp
		PrivateDevices ProtectProc ProtectClock ProtectHostname ProtectKernelLogs ProtectKernelModules
		ProtectKernelTunables ProtectControlGroups RestrictAddressFamilies RestrictNamespaces RestrictRealtime
		RestrictSUIDSGID LockPersonality RemoveIPC SystemCallArchitectures SystemCallFilter UMask
		MemoryDenyWriteExecute IPAddressDeny`,
	"Install": "WantedBy",
}

// unit is a unit file: section/directive → values.
func unit(p *problems, name, text string) map[string][]string {
	out := map[string][]string{}
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		key, value, isSetting := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			if directives[section] == "" {
				p.addf("%s: there is no section %s", name, section)
			}
		case !isSetting || !slices.Contains(strings.Fields(directives[section]), key):
			p.addf("%s: %q is no setting of %s", name, line, section)
		default:
			out[section+"/"+key] = append(out[section+"/"+key], value)
		}
	}
	return out
}

// environment reads a file of NAME=VALUE.
func environment(p *problems, name, text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		variable, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case !ok:
			p.addf("%s: %q sets nothing", name, line)
		default:
			out[variable] = value
		}
	}
	return out
}

var (
	expansion = regexp.MustCompile(`\$\{([A-Z_]+)\}`)
	mentioned = regexp.MustCompile(`[A-Z]+(_[A-Z]+){2,}`)
)

// checkUnits checks the units with the file of variables that they read.
func checkUnits(files map[string]string) (p problems) {
	variables := environment(&p, "sluice.env", files["sluice.env"])
	for _, name := range mentioned.FindAllString(files["sluice.env"], -1) {
		if !knownVariable(name) {
			p.addf("sluice.env: nobody reads %s", name)
		}
	}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".service") {
			continue
		}
		u := unit(&p, name, files[name])
		one := func(key string) string {
			if len(u[key]) != 1 {
				p.addf("%s: %s is given %d times", name, key, len(u[key]))
				return ""
			}
			return u[key][0]
		}
		credentials := map[string]bool{}
		for _, c := range u["Service/LoadCredential"] {
			id, _, _ := strings.Cut(c, ":")
			credentials["${CREDENTIALS_DIRECTORY}/"+id] = true
		}
		var args []string
		for _, arg := range strings.Fields(one("Service/ExecStart")) {
			if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(value, "${CREDENTIALS_DIRECTORY}") {
				if !credentials[value] {
					p.addf("%s: there is no credential for %s", name, arg)
				}
				delete(credentials, value)
			}
			args = append(args, expansion.ReplaceAllStringFunc(arg, func(r string) string {
				variable := r[2 : len(r)-1]
				used[variable] = true
				if variables[variable] == "" && variable != "CREDENTIALS_DIRECTORY" {
					p.addf("%s: %s is not in sluice.env", name, variable)
				}
				return variables[variable]
			}))
		}
		for c := range credentials {
			p.addf("%s: nobody reads the credential %s", name, c)
		}
		if len(args) == 0 || args[0] != "/usr/local/bin/sluice" {
			p.addf("%s: it starts %v", name, args)
			continue
		}
		flags := p.commandLine(name, args[1:])
		if !slices.Contains(u["Service/EnvironmentFile"], "/etc/sluice/sluice.env") {
			p.addf("%s: it reads no sluice.env", name)
		}
		if one("Service/User") == "root" || one("Service/TimeoutStopSec") != "60" {
			p.addf("%s: it is root, or has another time to end than 60 s", name)
		}
		if args[1] == "worker" {
			// A stop must not reach the engine past the worker, nor must the death of one end the other.
			if one("Service/KillMode") != "mixed" || one("Service/OOMPolicy") != "continue" {
				p.addf("%s: an engine doesn't end by its worker alone", name)
			}
			if flags["slots"] != "1" || one("Service/MemoryMax") != "6G" || 6<<30 < engine.DefaultMemory+1<<30 {
				p.addf("%s: its memory is not that of one slot", name)
			}
		}
	}
	for variable := range variables {
		if !used[variable] && !knownVariable(variable) {
			p.addf("sluice.env: nobody reads %s", variable)
		}
	}
	return p
}

func TestTheUnitsFitSystemdAndTheBinary(t *testing.T) {
	t.Parallel()
	files := deployed(t, "systemd")
	wantNoticed(t, files, checkUnits, mistakes{
		"a setting that systemd doesn't know":     {"sluice-worker.service", "NoNewPrivileges", "NoNewPrivilege", "no setting"},
		"a setting in another section":            {"sluice-worker.service", "KillMode=mixed\n", "[Install]\nKillMode=mixed\n", "no setting of Install"},
		"a section that isn't there":              {"sluice-master.service", "\\[Service\\]", "[Server]", "no section"},
		"a flag that the binary hasn't":           {"sluice-worker.service", "--gate=", "--door=", "unknown flag"},
		"a variable that isn't set":               {"sluice.env", "\nKV=", "\nKVS=", "KV is not in"},
		"a variable that nobody reads":            {"sluice.env", "MERGE_OWNED_TARGETS", "MERGE_OWN_TARGETS", "MERGE_OWN_TARGETS"},
		"a secret's variable that nobody reads":   {"sluice.env", "SLUICE_GATE_ACCESS_KEY", "SLUICE_GATE_ACCESS_ID", "SLUICE_GATE_ACCESS_ID"},
		"a credential that isn't loaded":          {"sluice-master.service", "LoadCredential=tokens:", "LoadCredential=token:", "no credential"},
		"a stop that reaches the engine":          {"sluice-worker.service", "KillMode=mixed", "KillMode=control-group", "engine"},
		"an engine's end that ends the worker":    {"sluice-worker.service", "OOMPolicy=continue", "OOMPolicy=stop", "engine"},
		"another binary":                          {"sluice-master.service", "/usr/local/bin/sluice", "/usr/bin/sluice", "starts"},
		"less memory than an engine and a worker": {"sluice-worker.service", "MemoryMax=6G", "MemoryMax=4G", "memory"},
	})
	verifyUnits(t, files)
}

// verifyUnits lets systemd read the units, on a machine that has it.
func verifyUnits(t *testing.T, files map[string]string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("there is no systemd-analyze here: the units were read by this test alone")
		return
	}
	dir := t.TempDir()
	args := []string{"verify"}
	for name, text := range files {
		if !strings.HasSuffix(name, ".service") {
			continue
		}
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "/usr/local/bin/sluice", binary)), 0o600))
		args = append(args, path)
	}
	said, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
	if err != nil || strings.Contains(string(said), dir) {
		t.Errorf("systemd-analyze verify: %v: %s", err, said)
	}
}
