package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
)

// DefaultPrefix is what the keys of a lake begin with, unless the configuration says otherwise. A second lake
// in the same etcd needs a prefix of its own.
const DefaultPrefix = "/"

// DefaultLeaseTTL is how long a registration outlives a process that died or is cut off from etcd.
const DefaultLeaseTTL = 10 * time.Second

// Config says which etcd to use, and as whom.
type Config struct {
	// Endpoints are host:port or URLs, at least one; members that a client may ask, not all need to be alive.
	Endpoints []string
	// Prefix stands before every key; "" means [DefaultPrefix].
	Prefix string
	// CA verifies the servers; Cert and Key are shown to them. Files in PEM; all may be empty, Cert and Key
	// only together. A CA alone, or endpoints with https://, mean TLS.
	CA, Cert, Key string
	// Username and Password are etcd's own; both or none.
	Username, Password string
	// LeaseTTL is in whole seconds, at least one; 0 means [DefaultLeaseTTL].
	LeaseTTL time.Duration
}

// Validate reports the first thing that is wrong with the configuration, before anything is asked of etcd.
func (c Config) Validate() error {
	switch {
	case len(c.Endpoints) == 0 || slices.Contains(c.Endpoints, ""):
		return errors.New("etcd needs its endpoints: write them as etcd:HOST:PORT,HOST:PORT")
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("etcd's client certificate and its key go together: give both files or none")
	case (c.Username == "") != (c.Password == ""):
		return errors.New("etcd's user name and password go together: give both or none")
	case c.LeaseTTL != 0 && (c.LeaseTTL < time.Second || c.LeaseTTL%time.Second != 0):
		return fmt.Errorf("a lease of %v: etcd counts leases in whole seconds, at least one", c.LeaseTTL)
	}
	_, err := c.tls()
	return err
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.LeaseTTL == 0 {
		c.LeaseTTL = DefaultLeaseTTL
	}
	return c
}

// tls is nil for connections without it.
func (c Config) tls() (*tls.Config, error) {
	secure := slices.ContainsFunc(c.Endpoints, func(e string) bool { return strings.HasPrefix(e, "https://") })
	if c.CA == "" && c.Cert == "" && !secure {
		return nil, nil
	}
	info := transport.TLSInfo{TrustedCAFile: c.CA, CertFile: c.Cert, KeyFile: c.Key}
	cfg, err := info.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read etcd's certificates: %w", err)
	}
	return cfg, nil
}
