package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/sluice-data/sluice/adapters/etcd"
	"github.com/sluice-data/sluice/adapters/etcd/etcdtest"
	"github.com/sluice-data/sluice/core"
)

// pki is an authority with one certificate that serves and asks.
type pki struct{ ca, cert, key string }

func newPKI(t *testing.T) pki {
	t.Helper()
	dir := t.TempDir()
	p := pki{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	writePEM(t, p.ca, "CERTIFICATE", sign(t, ca, ca, authority, authority))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "nobody in particular"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	writePEM(t, p.cert, "CERTIFICATE", sign(t, leaf, ca, key, authority))
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, p.key, "EC PRIVATE KEY", der)
	return p
}

func sign(t *testing.T, c, parent *x509.Certificate, of, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &of.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestClientCertificatesAndPasswordsOpenAnEtcdThatAsksForThem(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	c := etcdtest.Start(t, 1, func(cfg *embed.Config) {
		cfg.ClientTLSInfo = transport.TLSInfo{TrustedCAFile: p.ca, CertFile: p.cert, KeyFile: p.key, ClientCertAuth: true}
		cfg.ListenClientUrls[0].Scheme, cfg.AdvertiseClientUrls[0].Scheme = "https", "https"
	})
	right := etcd.Config{Endpoints: c.Endpoints(), CA: p.ca, Cert: p.cert, Key: p.key}
	enableAuth(t, right)
	right.Username, right.Password = "sluice", "secret words"
	s := open(t, right)
	rev := put(t, s, core.Put(core.OwnerKey("t"), "1"))

	for name, change := range map[string]func(*etcd.Config){
		"without a client certificate": func(c *etcd.Config) { c.Cert, c.Key = "", "" },
		"with another authority":       func(c *etcd.Config) { c.CA = newPKI(t).ca },
		"without a password":           func(c *etcd.Config) { c.Username, c.Password = "", "" },
		"with a wrong password":        func(c *etcd.Config) { c.Password = "other words" },
	} {
		cfg := right
		change(&cfg)
		wrong := open(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		answer, err := wrong.Commit(ctx, core.Txn{Name: "wrong", Then: []core.Op{core.Put(core.OwnerKey("t"), "2")}})
		cancel()
		if err == nil || answer.Outcome != core.Unknown {
			t.Errorf("%s: got %v, %v", name, answer.Outcome, err)
		}
		if err != nil && strings.Contains(err.Error(), "words") {
			t.Errorf("%s: the error tells the password: %v", name, err)
		}
	}
	got, err := s.Read(t.Context(), core.Everything())
	if err != nil || len(got.Records) != 1 || got.Records[0].Mod != rev {
		t.Errorf("somebody without rights has written: %v, %v", got, err)
	}
}

// enableAuth gives the user sluice all rights to every key, and asks everybody for a password.
func enableAuth(t *testing.T, cfg etcd.Config) {
	t.Helper()
	tls, err := transport.TLSInfo{TrustedCAFile: cfg.CA, CertFile: cfg.Cert, KeyFile: cfg.Key}.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: cfg.Endpoints, TLS: tls})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	ctx := t.Context()
	for _, err := range []error{
		result(client.UserAdd(ctx, "root", "root words")), result(client.UserGrantRole(ctx, "root", "root")),
		result(client.RoleAdd(ctx, "lake")), result(client.RoleGrantPermission(ctx, "lake", "/", "0", clientv3.PermissionType(clientv3.PermReadWrite))),
		result(client.UserAdd(ctx, "sluice", "secret words")), result(client.UserGrantRole(ctx, "sluice", "lake")),
		result(client.AuthEnable(ctx)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func result[A any](_ A, err error) error { return err }

func TestAConfigurationThatCannotWorkIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  etcd.Config
		word string
	}{
		"no endpoints":           {etcd.Config{}, "endpoints"},
		"an empty endpoint":      {etcd.Config{Endpoints: []string{"a:1", ""}}, "endpoints"},
		"a certificate alone":    {etcd.Config{Endpoints: []string{"a:1"}, Cert: "c.pem"}, "certificate"},
		"a user alone":           {etcd.Config{Endpoints: []string{"a:1"}, Username: "u"}, "password"},
		"a lease of a blink":     {etcd.Config{Endpoints: []string{"a:1"}, LeaseTTL: time.Millisecond}, "seconds"},
		"an authority not there": {etcd.Config{Endpoints: []string{"a:1"}, CA: "no-such-file.pem"}, "no-such-file.pem"},
	} {
		if _, err := etcd.Open(c.cfg); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
