package gate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/core"
)

// maxUploads bounds the multipart uploads under way, and so the files of the scratch directory.
const maxUploads = 4096

// uploads are the multipart uploads under way. Their parts lie in the scratch directory, never in the
// lake; completing one puts its object whole. They end with the process: clients begin again.
type uploads struct {
	dir string
	mu  sync.Mutex
	ids map[string]*upload
}

type upload struct {
	key    string
	access string // whose it is
	dir    string
	how    core.WriteHow
	mu     sync.Mutex
	parts  map[int32]part
}

type part struct {
	file string
	etag string
	size int64
}

func newUploads(dir string) *uploads { return &uploads{dir: dir, ids: map[string]*upload{}} }

func (u *uploads) begin(key, access string, how core.WriteHow) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) >= maxUploads {
		return "", fmt.Errorf("more than %d multipart uploads are under way", maxUploads)
	}
	dir, err := os.MkdirTemp(u.dir, "upload-")
	if err != nil {
		return "", fmt.Errorf("begin an upload of %s: %w", key, err)
	}
	id := rand.Text()
	u.ids[id] = &upload{key: key, access: access, dir: dir, how: how, parts: map[int32]part{}}
	return id, nil
}

// find returns an upload to the credential that began it.
func (u *uploads) find(id, key, access string) (*upload, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	up := u.ids[id]
	if up == nil || up.key != key || up.access != access {
		return nil, s3err.GetNoSuchUploadErr(id)
	}
	return up, nil
}

func (u *uploads) end(id string) {
	u.mu.Lock()
	up := u.ids[id]
	delete(u.ids, id)
	u.mu.Unlock()
	if up != nil {
		os.RemoveAll(up.dir)
	}
}

// CreateMultipartUpload implements the verb. Whether the key may be written is decided here, and again
// when the upload is completed.
func (e *endpoint) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (s3response.InitiateMultipartUploadResult, error) {
	r, err := e.open(ctx, "CreateMultipartUpload", in.Bucket, in.Key)
	if err != nil {
		return s3response.InitiateMultipartUploadResult{}, err
	}
	how, v := core.MayWrite(r.grant.Caller, r.key, core.Write{})
	if !v.OK() {
		return s3response.InitiateMultipartUploadResult{}, r.refuse(v)
	}
	id, err := e.gate.uploads.begin(r.name, r.grant.AccessKey, how)
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

// take keeps one part. A part that comes again replaces the earlier one.
func (up *upload) take(number int32, content io.Reader) (part, error) {
	f, err := os.CreateTemp(up.dir, fmt.Sprintf("part-%d-", number))
	if err != nil {
		return part{}, fmt.Errorf("keep part %d of %s: %w", number, up.key, err)
	}
	h := newHasher()
	_, err = io.Copy(io.MultiWriter(f, h), content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return part{}, fmt.Errorf("%w: part %d of %s: %w", errBody, number, up.key, err)
	}
	d := h.digest()
	p := part{file: f.Name(), size: d.size, etag: `"` + hex.EncodeToString(d.sum[:16]) + `"`}
	up.mu.Lock()
	defer up.mu.Unlock()
	if old, ok := up.parts[number]; ok {
		os.Remove(old.file)
	}
	up.parts[number] = p
	return p, nil
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

// whole opens the listed parts as one body.
func (up *upload) whole(in *s3.CompleteMultipartUploadInput) (io.ReadCloser, int64, error) {
	up.mu.Lock()
	defer up.mu.Unlock()
	b := &parts{}
	var size int64
	last := int32(0)
	for _, listed := range in.MultipartUpload.Parts {
		p, ok := up.parts[*listed.PartNumber]
		if !ok || *listed.PartNumber <= last || !backend.AreEtagsSame(p.etag, backend.GetStringFromPtr(listed.ETag)) {
			b.Close()
			return nil, 0, s3err.GetInvalidPartErr(*in.UploadId, *listed.PartNumber, backend.GetStringFromPtr(listed.ETag))
		}
		f, err := os.Open(p.file)
		if err != nil {
			b.Close()
			return nil, 0, answer(failed(fmt.Errorf("complete the upload of %s: %w", up.key, err)))
		}
		last = *listed.PartNumber
		size += p.size
		b.files = append(b.files, f)
	}
	return b, size, nil
}

// parts reads files one after the other.
type parts struct {
	files []*os.File
	at    int
}

func (p *parts) Read(b []byte) (int, error) {
	for p.at < len(p.files) {
		n, err := p.files[p.at].Read(b)
		if err != io.EOF {
			return n, err
		}
		p.at++
	}
	return 0, io.EOF
}

func (p *parts) Close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
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
