package rest

import (
	"crypto/tls"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/guard"
)

// organization begins the name of an organization that stands for a role in a certificate: sluice:fleet,
// sluice:operator, sluice:reader. A certificate that the fleet's authority signed, and that names none, shows
// nothing.
const organization = "sluice:"

// shown is the highest role that the certificate of a connection shows; ok is false without one that was
// verified.
func shown(c *tls.ConnectionState) (found Role, ok bool) {
	if c == nil || len(c.VerifiedChains) == 0 {
		return "", false
	}
	if guard.Out(guard.RestCertificate) {
		return Fleet, true
	}
	return named(c.VerifiedChains[0][0].Subject.Organization)
}

// named is the highest role that organizations stand for.
func named(organizations []string) (found Role, ok bool) {
	for _, o := range organizations {
		name, is := strings.CutPrefix(o, organization)
		if at := slices.Index(roles, Role(name)); is && at > slices.Index(roles, found) {
			found, ok = Role(name), true
		}
	}
	return found, ok
}
