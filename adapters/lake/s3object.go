package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sluice-data/sluice/guard"
)

// Head implements [Lake].
func (l *S3) Head(ctx context.Context, key string) (Info, error) {
	info, _, err := l.head(ctx, key)
	return info, err
}

func (l *S3) head(ctx context.Context, key string) (info Info, etag string, err error) {
	if err := l.check(ctx, "look at", key); err != nil {
		return Info{}, "", err
	}
	h, err := l.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &l.bucket, Key: l.name(key)}, patient)
	if err != nil {
		return Info{}, "", saidByS3("look at", key, err)
	}
	return Info{Key: key, Size: aws.ToInt64(h.ContentLength), ModTime: aws.ToTime(h.LastModified)}, aws.ToString(h.ETag), nil
}

// Get implements [Lake].
func (l *S3) Get(ctx context.Context, key string) ([]byte, error) {
	if err := l.check(ctx, "read", key); err != nil {
		return nil, err
	}
	o, err := l.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &l.bucket, Key: l.name(key)}, patient)
	if err != nil {
		return nil, saidByS3("read", key, err)
	}
	defer o.Body.Close()
	body, err := io.ReadAll(o.Body)
	if err != nil {
		return nil, saidByS3("read", key, err)
	}
	return body, nil
}

// Open implements [Lake]. The reader can be moved before its first byte is read, at no cost.
func (l *S3) Open(ctx context.Context, key string) (io.ReadCloser, Info, error) {
	info, etag, err := l.head(ctx, key)
	if err != nil {
		return nil, Info{}, err
	}
	return &object{ctx: ctx, lake: l, info: info, etag: etag}, info, nil
}

// object reads one object from where it was moved to, and the same object to its end: one that was replaced
// meanwhile is an error.
type object struct {
	ctx  context.Context
	lake *S3
	info Info
	etag string
	at   int64
	body io.ReadCloser // nil before the first byte
}

// Seek moves forward from the current place, before anything was read.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	if o.body != nil || whence != io.SeekCurrent || offset < 0 {
		return 0, fmt.Errorf("move in %s: only forward, and before it is read", o.info.Key)
	}
	o.at += offset
	return o.at, nil
}

// Read implements [io.Reader].
func (o *object) Read(p []byte) (int, error) {
	if o.body == nil {
		if o.at >= o.info.Size {
			return 0, io.EOF
		}
		in := &s3.GetObjectInput{Bucket: &o.lake.bucket, Key: o.lake.name(o.info.Key), IfMatch: &o.etag}
		if o.at > 0 {
			in.Range = aws.String(fmt.Sprintf("bytes=%d-", o.at))
		}
		got, err := o.lake.client.GetObject(o.ctx, in, patient)
		if err != nil {
			return 0, saidByS3("read", o.info.Key, err)
		}
		o.body = got.Body
	}
	return o.body.Read(p)
}

// Close implements [io.Closer].
func (o *object) Close() error {
	if o.body == nil {
		return nil
	}
	return o.body.Close()
}

// PutIfAbsent implements [Lake] by If-None-Match. It is sent once: an answer that says neither that it landed
// nor that the key exists leaves it unknown, also 409, which a store gives while somebody else's put of the
// same key is under way.
func (l *S3) PutIfAbsent(ctx context.Context, key string, body io.Reader) error {
	if err := l.check(ctx, "put", key); err != nil {
		return errors.Join(err, ErrNotTried)
	}
	content, done, err := seekable(body)
	if err != nil {
		return fmt.Errorf("put %s: read what is to be put: %w: %w", key, ErrNotTried, err)
	}
	defer done()
	in := &s3.PutObjectInput{Bucket: &l.bucket, Key: l.name(key), Body: content, IfNoneMatch: aws.String("*")}
	if guard.Out(guard.PutIfAbsent) {
		in.IfNoneMatch = nil
	}
	_, err = l.client.PutObject(ctx, in, once)
	var answer *awshttp.ResponseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusPreconditionFailed:
		return fmt.Errorf("put %s: %w", key, ErrExists)
	}
	return saidByS3("put", key, err)
}

// Put implements [Lake].
func (l *S3) Put(ctx context.Context, key string, body []byte) error {
	if err := l.check(ctx, "put", key); err != nil {
		return err
	}
	_, err := l.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &l.bucket, Key: l.name(key), Body: bytes.NewReader(body)}, patient)
	if err != nil {
		return saidByS3("put", key, err)
	}
	return nil
}

// inMemory is what a put without a length is held in memory for; larger ones go through a temporary file.
const inMemory = 8 << 20

// seekable makes a body that can be measured and signed before it is sent: a store wants both first.
func seekable(body io.Reader) (content io.ReadSeeker, done func(), err error) {
	if s, ok := body.(io.ReadSeeker); ok {
		return s, func() {}, nil
	}
	start, err := io.ReadAll(io.LimitReader(body, inMemory+1))
	if err != nil {
		return nil, nil, err
	}
	if len(start) <= inMemory {
		return bytes.NewReader(start), func() {}, nil
	}
	f, err := os.CreateTemp("", "sluice-put-*")
	if err != nil {
		return nil, nil, err
	}
	// The name goes at once, so that nothing is left behind by a process that dies.
	if err := os.Remove(f.Name()); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if _, err = io.Copy(f, io.MultiReader(bytes.NewReader(start), body)); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, func() { _ = f.Close() }, nil
}
