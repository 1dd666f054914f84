package gate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/sluice-data/sluice/core"
)

// Credential is an access key with its secret, as S3 clients take them.
type Credential struct {
	AccessKey, SecretKey string
	Caller               core.Caller
}

// errRevoked ends the requests of a credential that was revoked.
var errRevoked = errors.New("the credential was revoked")

// grant is a credential while it is valid. Its context ends when it is revoked.
type grant struct {
	Credential
	ctx    context.Context
	revoke context.CancelCauseFunc
}

// credentials are the valid ones. They live in memory only: after a restart every execution is another
// one, and clients are given new keys or those of the configuration.
type credentials struct {
	auth.IAMService // refuses what is not listed here: nil, so a new call of the library would be seen at once
	mu              sync.Mutex
	grants          map[string]*grant
}

var _ auth.IAMService = (*credentials)(nil)

func newCredentials() *credentials { return &credentials{grants: map[string]*grant{}} }

// add makes a credential; empty keys are drawn at random (128 bits of randomness at least).
func (c *credentials) add(who core.Caller, access, secret string) Credential {
	if access == "" {
		access, secret = "SL"+rand.Text(), rand.Text()+rand.Text()
	}
	ctx, revoke := context.WithCancelCause(context.Background())
	g := &grant{Credential: Credential{AccessKey: access, SecretKey: secret, Caller: who}, ctx: ctx, revoke: revoke}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.grants[access]; old != nil {
		old.revoke(errRevoked)
	}
	c.grants[access] = g
	return g.Credential
}

// remove revokes those that match: their new requests are refused and their held ones dropped.
// It returns their access keys.
func (c *credentials) remove(match func(core.Caller) bool) (removed []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for access, g := range c.grants {
		if match(g.Caller) {
			g.revoke(errRevoked)
			delete(c.grants, access)
			removed = append(removed, access)
		}
	}
	return removed
}

func (c *credentials) find(access string) (*grant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.grants[access]
	return g, ok
}

// GetUserAccount implements the library's look-up. Every account has the role that its own policies don't
// apply to: ours are in core.
func (c *credentials) GetUserAccount(access string) (auth.Account, error) {
	g, ok := c.find(access)
	if !ok {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	return auth.Account{Access: g.AccessKey, Secret: g.SecretKey, Role: auth.RoleAdmin}, nil
}

func notManaged() error { return s3err.GetAPIError(s3err.ErrAdminMethodNotSupported) }

// CreateAccount is refused: credentials are granted by this process only.
func (c *credentials) CreateAccount(auth.Account) error { return notManaged() }

// UpdateUserAccount is refused.
func (c *credentials) UpdateUserAccount(string, auth.MutableProps) error { return notManaged() }

// DeleteUserAccount is refused.
func (c *credentials) DeleteUserAccount(string) error { return notManaged() }

// ListUserAccounts is refused.
func (c *credentials) ListUserAccounts() ([]auth.Account, error) { return nil, notManaged() }

// ResolveAccounts is refused.
func (c *credentials) ResolveAccounts([]string) ([]string, error) { return nil, notManaged() }

// Shutdown does nothing: the gate owns the credentials.
func (c *credentials) Shutdown() error { return nil }

// GrantExecution makes the credential of one execution. Until [Gate.Revoke] it reads its table and
// publishes what core allows an execution.
func (g *Gate) GrantExecution(e core.Execution) Credential {
	return g.credentials.add(core.Caller{Class: core.ClassExecution, Execution: e.ID, Target: e.Target}, "", "")
}

// Revoke ends the credentials of an execution: new requests are refused, held ones are not forwarded.
// A put that is already with storage goes on.
func (g *Gate) Revoke(e core.ExecutionID) {
	for _, access := range g.credentials.remove(func(c core.Caller) bool { return c.Class == core.ClassExecution && c.Execution == e }) {
		g.uploads.endOf(access)
	}
	g.progress.forget(e)
}

// GrantClient makes a credential for the user's own programs. With keys given (from the configuration)
// they are used; with empty ones they are drawn at random.
func (g *Gate) GrantClient(access, secret string) (Credential, error) {
	return g.grantNamed(core.ClassClient, access, secret)
}

// GrantReader is [Gate.GrantClient] for programs that only read.
func (g *Gate) GrantReader(access, secret string) (Credential, error) {
	return g.grantNamed(core.ClassReader, access, secret)
}

func (g *Gate) grantNamed(class core.CallerClass, access, secret string) (Credential, error) {
	if access != "" && len(secret) < 8 {
		return Credential{}, fmt.Errorf("the secret of %s access key %q is shorter than 8 characters; choose a longer one", class, access)
	}
	return g.credentials.add(core.Caller{Class: class}, access, secret), nil
}

// GrantIngest makes the credential of the worker's own writer of one shard.
func (g *Gate) GrantIngest(t core.Target, s core.ShardID) Credential {
	return g.credentials.add(core.Caller{Class: core.ClassIngest, Target: t, Shard: s}, "", "")
}

// RevokeIngest ends the credentials of the writer of one shard.
func (g *Gate) RevokeIngest(t core.Target, s core.ShardID) {
	ours := func(c core.Caller) bool { return c.Class == core.ClassIngest && c.Target == t && c.Shard == s }
	for _, access := range g.credentials.remove(ours) {
		g.uploads.endOf(access)
	}
}
