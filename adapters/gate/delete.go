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
	if v := r.delete(); !v.OK() {
		return nil, r.refuse(v)
	}
	return &s3.DeleteObjectOutput{}, nil
}

// DeleteObjects implements the verb: each key is judged by itself, and answered by itself.
func (e *endpoint) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	var out s3response.DeleteResult
	for _, o := range in.Delete.Objects {
		r, err := e.open(ctx, "DeleteObjects", in.Bucket, o.Key)
		if err != nil {
			return s3response.DeleteResult{}, err
		}
		v := r.delete()
		switch {
		case v.OK():
			out.Deleted = append(out.Deleted, types.DeletedObject{Key: &r.name})
		case v.Rule == core.RuleNoDelete:
			return s3response.DeleteResult{}, r.refuse(v) // none of them would be allowed
		default:
			r.refuse(v)
			out.Error = append(out.Error, types.Error{Key: &r.name, Code: ptr("AccessDenied"), Message: ptr(string(v.Rule) + ": " + v.Detail)})
		}
	}
	return out, nil
}

func (r *request) delete() core.Verdict {
	w, v := r.watched()
	if !v.OK() {
		return v
	}
	if v := core.MayDelete(r.grant.Caller, r.key, w); !v.OK() {
		return v
	}
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
