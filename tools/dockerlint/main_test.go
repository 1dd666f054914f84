package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOurDockerfileIsCleanAndEachMistakeIsFound(t *testing.T) {
	t.Parallel()
	const ours = "../../deploy/Dockerfile"
	text, err := os.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	if wrong, err := check(ours); err != nil || len(wrong) > 0 {
		t.Errorf("%q, %v", wrong, err)
	}
	for name, c := range map[string]struct{ old, new, words string }{
		"an entry point that gets no signals": {`ENTRYPOINT ["/usr/local/bin/sluice"]`, "ENTRYPOINT sluice", "JSONArgsRecommended"},
		"a stage with a name in two cases":    {"AS build", "as Build", "StageNameCasing"},
		"an instruction that isn't there":     {"WORKDIR", "WORKDIRS", "unknown instruction"},
		"a variable that isn't set":           {"USER 65532:65532", "USER ${UID}", "UndefinedVar"},
		"a secret in the image":               {"EXPOSE", "ENV SLUICE_ETCD_PASSWORD=x\nEXPOSE", "SecretsUsedInArgOrEnv"},
		"two entry points":                    {"EXPOSE", "ENTRYPOINT [\"x\"]\nEXPOSE", "MultipleInstructionsDisallowed"},
	} {
		bad := strings.Replace(string(text), c.old, c.new, 1)
		path := filepath.Join(t.TempDir(), "Dockerfile")
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		wrong, err := check(path)
		if err != nil || bad == string(text) || !strings.Contains(strings.Join(wrong, "\n"), c.words) {
			t.Errorf("%s: expected %s in %q, %v", name, c.words, wrong, err)
		}
	}
}
