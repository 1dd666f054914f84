// Package certtest makes an authority and certificates for tests, as files in temporary directories.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	// File is its own certificate (PEM); Pool holds it.
	File string
	Pool *x509.CertPool

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its key, as files and as tls takes them.
type Pair struct {
	Cert, Key string
	TLS       tls.Certificate
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{File: filepath.Join(t.TempDir(), "ca.pem"), Pool: x509.NewCertPool(), key: newKey(t)}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := sign(t, a.cert, a.cert, a.key, a.key)
	write(t, a.File, "CERTIFICATE", der)
	own, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert = own
	a.Pool.AddCert(own)
	return a
}

// Issue makes a certificate for servers and clients on the loopback, in the name of these organizations.
func (a *Authority) Issue(t testing.TB, organizations ...string) Pair {
	t.Helper()
	return a.IssueFor(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, time.Hour, organizations...)
}

// IssueFor is [Authority.Issue] for some uses only, and for so long from now; a negative time is over.
func (a *Authority) IssueFor(t testing.TB, uses []x509.ExtKeyUsage, valid time.Duration, organizations ...string) Pair {
	t.Helper()
	key := newKey(t)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "of a test", Organization: organizations},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(valid),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: uses,
	}
	dir := t.TempDir()
	p := Pair{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	write(t, p.Cert, "CERTIFICATE", sign(t, leaf, a.cert, key, a.key))
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.Key, "EC PRIVATE KEY", der)
	if p.TLS, err = tls.LoadX509KeyPair(p.Cert, p.Key); err != nil {
		t.Fatal(err)
	}
	return p
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, c, parent *x509.Certificate, of, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &of.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func write(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
