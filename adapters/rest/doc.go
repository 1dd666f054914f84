// Package rest is the HTTP API of a process: JSON in and out, errors as application/problem+json, described
// as OpenAPI 3.1 at /openapi.json. Handlers only translate: what they show is read straight from the KV's
// records and the lake's manifests, and what they start is asked of the master. Reading changes nothing.
//
// Callers show their role by a token or by a certificate ([Security]). A process that has neither listens on the
// loopback only, and refuses requests that name another host, or come from another site's page in a browser.
package rest
