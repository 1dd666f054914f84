package gate

import (
	"context"
	"fmt"
	"io"
	"mime"
	"path"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// GetObject implements the verb, with at most one range.
func (e *endpoint) GetObject(ctx context.Context, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	r, err := e.open(ctx, "GetObject", in.Bucket, in.Key)
	if err != nil {
		return nil, err
	}
	if v := core.MayRead(r.grant.Caller, r.key); !v.OK() {
		return nil, r.refuse(v)
	}
	f, info, err := r.gate.cfg.Lake.Open(ctx, r.name)
	if err != nil {
		return nil, answer(failed(err))
	}
	out, err := r.section(f, info, in)
	if err != nil {
		f.Close()
		return nil, err
	}
	return out, nil
}

func (r *request) section(f io.ReadCloser, info lake.Info, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	etag := etagOf(info)
	err := backend.EvaluatePreconditions(etag, info.ModTime, backend.PreConditions{
		IfMatch: in.IfMatch, IfNoneMatch: in.IfNoneMatch, IfModSince: in.IfModifiedSince, IfUnmodeSince: in.IfUnmodifiedSince,
	})
	if err != nil {
		return nil, err
	}
	from, length, ranged, err := backend.ParseObjectRange(info.Size, backend.GetStringFromPtr(in.Range))
	if err != nil {
		return nil, err
	}
	if err := skip(f, from); err != nil {
		return nil, answer(failed(fmt.Errorf("read %s from byte %d: %w", r.name, from, err)))
	}
	out := &s3.GetObjectOutput{
		Body:          &section{Reader: io.LimitReader(f, length), file: f, request: r, from: from},
		ContentLength: &length, ETag: &etag, LastModified: &info.ModTime,
		AcceptRanges: ptr("bytes"), ContentType: ptr(contentType(r.name)),
	}
	if ranged {
		out.ContentRange = ptr(fmt.Sprintf("bytes %d-%d/%d", from, from+length-1, info.Size))
	}
	return out, nil
}

// skip moves a reader forward. A file is moved at no cost.
func skip(f io.Reader, n int64) error {
	if n == 0 {
		return nil
	}
	if s, ok := f.(io.Seeker); ok {
		_, err := s.Seek(n, io.SeekCurrent)
		return err
	}
	_, err := io.CopyN(io.Discard, f, n)
	return err
}

// section is what is sent of an object. What was sent of it counts as read once it is closed.
type section struct {
	io.Reader
	file    io.Closer
	request *request
	from    int64
	sent    int64
}

func (s *section) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.sent += int64(n)
	return n, err
}

func (s *section) Close() error {
	r := s.request
	if id := r.grant.Caller.Execution; id != "" && r.grant.ctx.Err() == nil {
		if fresh := r.gate.progress.read(id, r.name, s.from, s.from+s.sent); fresh > 0 {
			r.gate.cfg.Authority.Worked(id, Work{Key: r.name, Bytes: core.Bytes(fresh)})
		}
	}
	return s.file.Close()
}

// HeadObject implements the verb.
func (e *endpoint) HeadObject(ctx context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	r, err := e.open(ctx, "HeadObject", in.Bucket, in.Key)
	if err != nil {
		return nil, err
	}
	if v := core.MayRead(r.grant.Caller, r.key); !v.OK() {
		return nil, r.refuse(v)
	}
	info, err := r.gate.cfg.Lake.Head(ctx, r.name)
	if err != nil {
		return nil, answer(failed(err))
	}
	etag := etagOf(info)
	err = backend.EvaluatePreconditions(etag, info.ModTime, backend.PreConditions{
		IfMatch: in.IfMatch, IfNoneMatch: in.IfNoneMatch, IfModSince: in.IfModifiedSince, IfUnmodeSince: in.IfUnmodifiedSince,
	})
	if err != nil {
		return nil, err
	}
	return &s3.HeadObjectOutput{
		ContentLength: &info.Size, ETag: &etag, LastModified: &info.ModTime,
		AcceptRanges: ptr("bytes"), ContentType: ptr(contentType(r.name)),
	}, nil
}

// etagOf is the ETag of an object that somebody wrote at some time. It changes when the object does; it
// is not the MD5 that a put answers, which would have to be read or kept beside the lake.
func etagOf(info lake.Info) string {
	return fmt.Sprintf(`"%x-%x"`, info.ModTime.UnixNano(), info.Size)
}

func contentType(key string) string {
	if t := mime.TypeByExtension(path.Ext(key)); t != "" {
		return t
	}
	return "application/octet-stream"
}

func ptr[T any](v T) *T { return &v }
