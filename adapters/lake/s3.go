package lake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// S3 is a lake under a prefix of a bucket. See [OpenS3].
type S3 struct {
	client *s3.Client
	bucket string
	prefix string // "" or ends with a slash
}

var (
	_ Lake    = (*S3)(nil)
	_ parents = (*S3)(nil)
)

// OpenS3 opens s3://BUCKET/PREFIX as a lake. Region, endpoint and credentials come from where every AWS
// program looks for them: AWS_* variables, the shared files, the machine's role. Nothing is asked of the
// bucket yet. change, if any, is done to the client's options.
//
// NB: directory buckets (S3 Express) list in no order and are refused.
func OpenS3(ctx context.Context, uri string, change ...func(*s3.Options)) (*S3, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("lake %s is not s3://BUCKET/PREFIX", uri)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		if err := CheckKey(prefix); err != nil {
			return nil, fmt.Errorf("lake %s: %w", uri, err)
		}
		prefix += "/"
	}
	if strings.HasSuffix(u.Host, "--x-s3") {
		return nil, fmt.Errorf("lake %s is a directory bucket, which lists in no order; use a general purpose bucket", uri)
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("lake %s: read the AWS configuration: %w", uri, err)
	}
	// NB: the program's own client, so that AWS_CA_BUNDLE is honoured and nothing else of ours is changed by it.
	client := s3.NewFromConfig(cfg, append([]func(*s3.Options){func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil // other stores have no names for buckets in DNS
		if o.Region == "" {
			o.Region = "us-east-1"
		}
		// Not all stores know the newer checksums; ours are those that a request needs.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}}, change...)...)
	return &S3{client: client, bucket: u.Host, prefix: prefix}, nil
}

// URI is s3://BUCKET/PREFIX without a slash at its end.
func (l *S3) URI() string {
	return strings.TrimSuffix("s3://"+l.bucket+"/"+l.prefix, "/")
}

// Server is where the bucket is served, "" for AWS itself, and its region.
func (l *S3) Server() (endpoint, region string) {
	o := l.client.Options()
	return aws.ToString(o.BaseEndpoint), o.Region
}

// Listed returns the keys under a folder in the order in which the bucket lists them. [S3.List] sorts them, so
// only here does it show whether the bucket keeps the order on which stock clients count.
func (l *S3) Listed(ctx context.Context, folder string) ([]string, error) {
	var out []string
	err := l.pages(ctx, folder, "", func(p *s3.ListObjectsV2Output) {
		for _, o := range p.Contents {
			out = append(out, strings.TrimPrefix(aws.ToString(o.Key), l.prefix))
		}
	})
	return out, err
}

// name is the object's key in the bucket.
func (l *S3) name(key string) *string { return aws.String(l.prefix + key) }

// check refuses a key or a call that must not reach the bucket.
func (l *S3) check(ctx context.Context, doing, key string) error {
	err := ctx.Err()
	if err == nil {
		err = CheckKey(key)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", doing, key, err)
	}
	return nil
}

// once is for puts that decide something: the client must not send them again, since the first may have landed.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

// patient is for everything that may be repeated.
func patient(o *s3.Options) {
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 4 })
}

// Delete implements [Lake].
func (l *S3) Delete(ctx context.Context, key string) error {
	if err := l.check(ctx, "delete", key); err != nil {
		return err
	}
	_, err := l.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &l.bucket, Key: l.name(key)}, patient)
	if err != nil && !errors.Is(saidByS3("delete", key, err), ErrNotExist) {
		return saidByS3("delete", key, err)
	}
	return nil
}

// List implements [Lake].
func (l *S3) List(ctx context.Context, folder string) ([]Info, error) {
	var out []Info
	err := l.pages(ctx, folder, "", func(p *s3.ListObjectsV2Output) {
		for _, o := range p.Contents {
			key, ok := strings.CutPrefix(aws.ToString(o.Key), l.prefix)
			if ok && CheckKey(key) == nil { // what else lies there has no key of ours
				out = append(out, Info{Key: key, Size: aws.ToInt64(o.Size), ModTime: aws.ToTime(o.LastModified)})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// Children implements [Lake].
func (l *S3) Children(ctx context.Context, folder string) (Children, error) {
	var out Children
	err := l.pages(ctx, folder, "/", func(p *s3.ListObjectsV2Output) {
		for _, o := range p.Contents {
			if name := strings.TrimPrefix(aws.ToString(o.Key), l.prefix+folder); CheckKey(name) == nil {
				out.Objects = append(out.Objects, name)
			}
		}
		for _, o := range p.CommonPrefixes {
			if name := path.Clean(strings.TrimPrefix(aws.ToString(o.Prefix), l.prefix+folder)); CheckKey(name) == nil {
				out.Folders = append(out.Folders, name)
			}
		}
	})
	if err != nil {
		return Children{}, err
	}
	slices.Sort(out.Objects)
	slices.Sort(out.Folders)
	return out, nil
}

// pages reads a whole listing. One that breaks off is an error: half of a folder would look like the whole.
func (l *S3) pages(ctx context.Context, folder, delimiter string, each func(*s3.ListObjectsV2Output)) error {
	err := ctx.Err()
	if err == nil {
		err = checkFolder(folder)
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", folder, err)
	}
	in := &s3.ListObjectsV2Input{Bucket: &l.bucket, Prefix: l.name(folder)}
	if delimiter != "" {
		in.Delimiter = &delimiter
	}
	for pages := s3.NewListObjectsV2Paginator(l.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx, patient)
		if err != nil {
			return saidByS3("list", folder, err)
		}
		each(page)
	}
	return nil
}

// claimAbove looks for the claim of a lake that this one would lie in: at every prefix of its own. Where our
// credentials may not look, nobody's lake is found.
func (l *S3) claimAbove(ctx context.Context) (string, error) {
	above := strings.TrimSuffix(l.prefix, "/")
	for above != "" {
		above = strings.TrimPrefix(path.Dir("/"+above), "/")
		outer := &S3{client: l.client, bucket: l.bucket, prefix: above}
		if above != "" {
			outer.prefix += "/"
		}
		switch _, err := outer.Head(ctx, ClaimKey); {
		case err == nil:
			return outer.URI() + "/" + ClaimKey, nil
		case !errors.Is(err, ErrNotExist) && !errors.Is(err, ErrDenied):
			return "", err
		}
	}
	return "", nil
}

// saidByS3 names what was being done to which key, and adds the sentinel that a caller branches on.
func saidByS3(doing, key string, err error) error {
	var answer *awshttp.ResponseError
	status := 0
	if errors.As(err, &answer) {
		status = answer.HTTPStatusCode()
	}
	var api smithy.APIError
	code := ""
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	var dial *net.OpError
	switch {
	case code == "NoSuchBucket":
		return fmt.Errorf("%s %s: there is no such bucket: %w", doing, key, err)
	case status == http.StatusNotFound:
		return fmt.Errorf("%s %s: %w", doing, key, ErrNotExist)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return fmt.Errorf("%s %s: %w: %w", doing, key, ErrDenied, err)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("%s %s: %w: %w", doing, key, ErrNotTried, err)
	}
	return fmt.Errorf("%s %s: %w", doing, key, err)
}
