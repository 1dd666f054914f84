package gate

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/core"
)

// CreateMultipartUpload implements the verb. Whether the key may be written by parts is decided here, and
// again, with its condition, when the upload is completed.
func (e *endpoint) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (s3response.InitiateMultipartUploadResult, error) {
	r, err := e.open(ctx, "CreateMultipartUpload", in.Bucket, in.Key)
	if err != nil {
		return s3response.InitiateMultipartUploadResult{}, err
	}
	if _, v := core.MayWrite(r.grant.Caller, r.key, core.Write{Conditional: true}); !v.OK() {
		return s3response.InitiateMultipartUploadResult{}, r.refuse(v)
	}
	id, err := e.gate.uploads.begin(r.name, r.grant.AccessKey)
	if err != nil {
		return s3response.InitiateMultipartUploadResult{}, r.refuse(failed(err))
	}
	return s3response.InitiateMultipartUploadResult{Bucket: Bucket, Key: r.name, UploadId: id}, nil
}

// upload opens a request that is about an upload.
func (e *endpoint) upload(ctx context.Context, verb string, bucket, key, id *string) (*request, *upload, error) {
	r, err := e.open(ctx, verb, bucket, key)
	if err != nil {
		return nil, nil, err
	}
	up, err := e.gate.uploads.find(backend.GetStringFromPtr(id), r.name, r.grant.AccessKey)
	return r, up, err
}

// UploadPart implements the verb.
func (e *endpoint) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	r, up, err := e.upload(ctx, "UploadPart", in.Bucket, in.Key, in.UploadId)
	if err != nil {
		return nil, err
	}
	content, err := checked(s3response.PutObjectInput{
		Body: in.Body, ChecksumCRC32: in.ChecksumCRC32, ChecksumCRC32C: in.ChecksumCRC32C,
		ChecksumSHA1: in.ChecksumSHA1, ChecksumSHA256: in.ChecksumSHA256, ChecksumCRC64NVME: in.ChecksumCRC64NVME,
	})
	if err != nil {
		return nil, r.refuse(failed(err))
	}
	p, err := up.take(*in.PartNumber, content)
	if err != nil {
		return nil, r.refuse(failed(err))
	}
	return &s3.UploadPartOutput{ETag: &p.etag}, nil
}

// CompleteMultipartUpload implements the verb. It puts the parts as one object, like any other put.
func (e *endpoint) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	none := s3response.CompleteMultipartUploadResult{}
	r, up, err := e.upload(ctx, "CompleteMultipartUpload", in.Bucket, in.Key, in.UploadId)
	if err != nil {
		return none, "", err
	}
	w, err := r.form(in.IfMatch, in.IfNoneMatch, false)
	if err != nil {
		return none, "", err
	}
	how, v := core.MayWrite(r.grant.Caller, r.key, w)
	if !v.OK() {
		return none, "", r.refuse(v)
	}
	content, size, err := up.whole(in)
	if err != nil {
		return none, "", err
	}
	defer content.Close()
	if how == core.WriteCommit {
		how = core.WriteIfAbsent // only a build that leaves the rule out comes here
	}
	if err := r.put(how, content, size); err != nil {
		return none, "", err
	}
	e.gate.uploads.end(*in.UploadId)
	return s3response.CompleteMultipartUploadResult{Bucket: ptr(Bucket), Key: &r.name, ETag: ptr(r.etag())}, "", nil
}

// AbortMultipartUpload implements the verb.
func (e *endpoint) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput) error {
	_, _, err := e.upload(ctx, "AbortMultipartUpload", in.Bucket, in.Key, in.UploadId)
	if err == nil {
		e.gate.uploads.end(*in.UploadId)
	}
	return err
}

// ListParts implements the verb, in one page.
func (e *endpoint) ListParts(ctx context.Context, in *s3.ListPartsInput) (s3response.ListPartsResult, error) {
	r, up, err := e.upload(ctx, "ListParts", in.Bucket, in.Key, in.UploadId)
	if err != nil {
		return s3response.ListPartsResult{}, err
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	out := s3response.ListPartsResult{Bucket: Bucket, Key: r.name, UploadID: *in.UploadId, MaxParts: maxParts}
	for _, n := range slices.Sorted(maps.Keys(up.parts)) {
		out.Parts = append(out.Parts, s3response.Part{PartNumber: int(n), ETag: up.parts[n].etag, Size: up.parts[n].size})
	}
	return out, nil
}

// ListMultipartUploads implements the verb, in one page: the caller's own.
func (e *endpoint) ListMultipartUploads(ctx context.Context, in *s3.ListMultipartUploadsInput) (s3response.ListMultipartUploadsResult, error) {
	r, err := e.open(ctx, "ListMultipartUploads", in.Bucket, nil)
	if err != nil {
		return s3response.ListMultipartUploadsResult{}, err
	}
	prefix := backend.GetStringFromPtr(in.Prefix)
	out := s3response.ListMultipartUploadsResult{Bucket: Bucket, Prefix: prefix, MaxUploads: maxUploads}
	e.gate.uploads.mu.Lock()
	defer e.gate.uploads.mu.Unlock()
	for id, up := range e.gate.uploads.ids {
		if up.access == r.grant.AccessKey && strings.HasPrefix(up.key, prefix) {
			out.Uploads = append(out.Uploads, s3response.Upload{Key: up.key, UploadID: id})
		}
	}
	slices.SortFunc(out.Uploads, func(a, b s3response.Upload) int {
		return strings.Compare(filepath.Join(a.Key, a.UploadID), filepath.Join(b.Key, b.UploadID))
	})
	return out, nil
}
