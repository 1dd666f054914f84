package gate

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/core"
)

// s3Backend is the library's name for what we implement.
type s3Backend = backend.Backend

// endpoint answers the S3 verbs that the gate knows. It embeds the library's refusing default, so a verb
// that the library gains is refused; a test lists all of them (attack new-verb).
type endpoint struct {
	backend.BackendUnsupported
	gate *Gate
}

var _ s3Backend = (*endpoint)(nil)

// request is one request with what the gate knows of it.
type request struct {
	gate  *Gate
	ctx   context.Context
	grant *grant
	verb  string
	name  string // the key
	key   core.Key
}

// open finds the caller of a request. An account that we did not grant, the library's own root among
// them, has no access.
func (e *endpoint) open(ctx context.Context, verb string, bucket, key *string) (*request, error) {
	account, _ := ctx.Value("account").(auth.Account)
	g, ok := e.gate.credentials.find(account.Access)
	if !ok {
		return nil, s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	if bucket == nil || *bucket != Bucket {
		return nil, s3err.GetAPIError(s3err.ErrNoSuchBucket)
	}
	r := &request{gate: e.gate, ctx: ctx, grant: g, verb: verb}
	if key != nil {
		// NB: the library's strings are overwritten once the request is over.
		r.name = strings.Clone(*key)
		r.key = core.Classify(r.name)
	}
	return r, nil
}

// String names the backend.
func (e *endpoint) String() string { return "sluice" }

// Shutdown does nothing: see [Gate.Close].
func (e *endpoint) Shutdown() {}

// HeadBucket implements the verb.
func (e *endpoint) HeadBucket(ctx context.Context, in *s3.HeadBucketInput) (*s3.HeadBucketOutput, error) {
	_, err := e.open(ctx, "HeadBucket", in.Bucket, nil)
	return &s3.HeadBucketOutput{}, err
}

// ListBuckets implements the verb: there is one bucket.
func (e *endpoint) ListBuckets(ctx context.Context, _ s3response.ListBucketsInput) (s3response.ListAllMyBucketsResult, error) {
	name := Bucket
	if _, err := e.open(ctx, "ListBuckets", &name, nil); err != nil {
		return s3response.ListAllMyBucketsResult{}, err
	}
	return s3response.ListAllMyBucketsResult{Buckets: s3response.ListAllMyBucketsList{
		Bucket: []s3response.ListAllMyBucketsEntry{{Name: Bucket, BucketRegion: Region}},
	}}, nil
}

// The library asks for the following about every request. There are no ACLs, policies, locks and versions.

// GetBucketAcl implements the verb.
func (e *endpoint) GetBucketAcl(_ context.Context, in *s3.GetBucketAclInput) ([]byte, error) {
	if *in.Bucket != Bucket {
		return nil, s3err.GetBucketErr(s3err.ErrNoSuchBucket, *in.Bucket)
	}
	return []byte(`{}`), nil
}

// GetBucketPolicy implements the verb.
func (e *endpoint) GetBucketPolicy(_ context.Context, bucket string) ([]byte, error) {
	return nil, s3err.GetAPIError(s3err.ErrNoSuchBucketPolicy)
}

// GetBucketVersioning implements the verb.
func (e *endpoint) GetBucketVersioning(context.Context, string) (s3response.GetBucketVersioningOutput, error) {
	return s3response.GetBucketVersioningOutput{}, nil
}

// GetObjectLockConfiguration implements the verb.
func (e *endpoint) GetObjectLockConfiguration(context.Context, string) ([]byte, error) {
	return nil, s3err.GetAPIError(s3err.ErrObjectLockConfigurationNotFound)
}

// GetBucketCors implements the verb.
func (e *endpoint) GetBucketCors(_ context.Context, bucket string) ([]byte, error) {
	return nil, s3err.GetBucketErr(s3err.ErrNoSuchCORSConfiguration, bucket)
}
