package gate

import (
	"context"
	"strings"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/core"
)

// CopyObject implements the verb: a read of one key and a write of another, each judged as such. Copying
// by parts is refused.
func (e *endpoint) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	r, err := e.open(ctx, "CopyObject", in.Bucket, in.Key)
	if err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	how, v := core.MayWrite(r.grant.Caller, r.key, core.Write{})
	if !v.OK() {
		return s3response.CopyObjectOutput{}, r.refuse(v)
	}
	bucket, source, _, err := backend.ParseCopySource(*in.CopySource)
	if err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	source = strings.Clone(source)
	if bucket != Bucket {
		return s3response.CopyObjectOutput{}, s3err.GetBucketErr(s3err.ErrNoSuchBucket, bucket)
	}
	if v := core.MayRead(r.grant.Caller, core.Classify(source)); !v.OK() {
		return s3response.CopyObjectOutput{}, r.refuse(v)
	}
	f, info, err := r.gate.cfg.Lake.Open(ctx, source)
	if err != nil {
		return s3response.CopyObjectOutput{}, answer(failed(err))
	}
	defer f.Close()
	if how == core.WriteCommit {
		how = core.WriteIfAbsent // only a build that leaves the rule out comes here
	}
	if err := r.put(how, f, info.Size); err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	return s3response.CopyObjectOutput{CopyObjectResult: &s3response.CopyObjectResult{ETag: ptr(r.etag()), LastModified: &info.ModTime}}, nil
}
