package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/rest"
)

// Whoever forgets to put secrets of their own in place gets a fleet that doesn't start, not one that everybody
// knows the secrets of.
func TestNoProcessStartsWithThePlaceholdersOfTheManifests(t *testing.T) {
	t.Parallel()
	c, p := read(deployed(t, "kubernetes"))
	for _, problem := range p {
		t.Error(problem)
	}
	files := func(secret string) func(key string) string {
		dir := t.TempDir()
		for key, text := range c.secrets[secret].StringData {
			must(t, os.WriteFile(filepath.Join(dir, key), []byte(text), 0o600))
		}
		return func(key string) string { return filepath.Join(dir, key) }
	}
	if _, err := rest.ReadTokens(files("sluice-tokens")("tokens")); err == nil {
		t.Error("the tokens are taken")
	}
	tls := files("sluice-tls")
	if err := (rest.Security{Cert: tls("tls.crt"), Key: tls("tls.key"), CA: tls("ca.crt")}).Validate(); err == nil {
		t.Error("the fleet's certificate is taken")
	}
	of := files("sluice-etcd")
	if err := (etcd.Config{Endpoints: []string{"etcd:2379"}, Cert: of("tls.crt"), Key: of("tls.key"), CA: of("ca.crt")}).Validate(); err == nil {
		t.Error("the client certificate for etcd is taken")
	}
	for _, name := range []string{"sluice-gate", "sluice-lake"} {
		for key, text := range c.secrets[name].StringData {
			if text != "" {
				t.Errorf("%s has the %s %q, that somebody might use", name, key, text)
			}
		}
	}
}
