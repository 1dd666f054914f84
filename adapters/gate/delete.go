package gate

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// DeleteObject implements the verb.
func (e *endpoint) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	r, err := e.open(ctx, "DeleteObject", in.Bucket, in.Key)
	if err != nil {
		return nil, err
	}
	v := r.mayDelete()
	if v.OK() {
		v = r.delete()
	}
	if !v.OK() {
		return nil, r.refuse(v)
	}
	return &s3.DeleteObjectOutput{}, nil
}

// DeleteObjects implements the verb. Nothing of a batch is deleted if one of its keys is refused: half of
// a table is worth nothing to whoever meant to drop it, and the other half to nobody else.
func (e *endpoint) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	var batch []*request
	for _, o := range in.Delete.Objects {
		r, err := e.open(ctx, "DeleteObjects", in.Bucket, o.Key)
		if err != nil {
			return s3response.DeleteResult{}, err
		}
		if v := r.mayDelete(); !v.OK() {
			return s3response.DeleteResult{}, r.refuse(v)
		}
		batch = append(batch, r)
	}
	var out s3response.DeleteResult
	for _, r := range batch {
		if v := r.delete(); !v.OK() {
			r.log(v)
			out.Error = append(out.Error, types.Error{Key: &r.name, Code: ptr("InternalError"), Message: &v.Detail})
			continue
		}
		out.Deleted = append(out.Deleted, types.DeletedObject{Key: &r.name})
	}
	return out, nil
}

func (r *request) mayDelete() core.Verdict {
	w, v := r.watched()
	if !v.OK() {
		return v
	}
	return core.MayDelete(r.grant.Caller, r.key, w)
}

func (r *request) delete() core.Verdict {
	if err := r.gate.cfg.Lake.Delete(r.ctx, r.name); err != nil {
		return failed(err)
	}
	return core.Verdict{}
}

// watched collects what the rule of deletes needs.
func (r *request) watched() (core.Watched, core.Verdict) {
	if r.grant.Caller.Class != core.ClassClient || r.key.Target == "" {
		return core.Watched{}, core.Verdict{}
	}
	from, running := r.gate.cfg.Authority.Watched(r.key.Target)
	w := core.Watched{Running: running, From: from, Made: r.gate.made.has(r.key.Target, r.name)}
	if running && r.key.Kind == core.KeyBaseManifest {
		head, _, err := lance.LatestBase(r.ctx, r.gate.cfg.Lake, r.key.Target)
		if err != nil {
			return w, failed(err)
		}
		w.Head = head
	}
	return w, core.Verdict{}
}
