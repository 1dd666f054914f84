package gate_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sluice-data/sluice/adapters/gate"
)

// wire is a plain S3 client that tries each request once.
type wire struct{ *s3.Client }

func newWire(g *gate.Gate, c gate.Credential) *wire { return wireTo(g.URL(), nil, c) }

// wireTo leads to a URL, whose certificate these authorities have signed.
func wireTo(url string, trusted *x509.CertPool, c gate.Credential) *wire {
	return &wire{s3.New(s3.Options{
		BaseEndpoint: &url, Region: gate.Region, UsePathStyle: true,
		Retryer:    aws.NopRetryer{},
		HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, TLSClientConfig: &tls.Config{RootCAs: trusted}}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: c.AccessKey, SecretAccessKey: c.SecretKey}, nil
		}),
	})}
}

// status is the HTTP status of a call that returned err; 200 if it succeeded.
func status(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return http.StatusOK
	}
	var r *awshttp.ResponseError
	if !errors.As(err, &r) {
		t.Fatalf("no HTTP answer: %v", err)
	}
	t.Logf("answer: %v", err)
	return r.HTTPStatusCode()
}

// put puts a key, over what is there.
func (w *wire) put(t *testing.T, key, body string) int {
	t.Helper()
	_, err := w.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(gate.Bucket), Key: &key, Body: bytes.NewReader([]byte(body))})
	return status(t, err)
}

// putNew puts a key with If-None-Match: *.
func (w *wire) putNew(t *testing.T, key string, body []byte) int {
	t.Helper()
	return status(t, w.tryNew(t.Context(), key, body))
}

func (w *wire) tryNew(ctx context.Context, key string, body []byte) error {
	_, err := w.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(gate.Bucket), Key: &key, Body: bytes.NewReader(body), IfNoneMatch: aws.String("*"),
	})
	return err
}

func (w *wire) get(t *testing.T, key string) (string, int) {
	t.Helper()
	out, err := w.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(gate.Bucket), Key: &key})
	if err != nil {
		return "", status(t, err)
	}
	defer out.Body.Close()
	b, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return string(b), http.StatusOK
}

func (w *wire) delete(t *testing.T, key string) int {
	t.Helper()
	_, err := w.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(gate.Bucket), Key: &key})
	return status(t, err)
}

// list gives the keys and common prefixes under a prefix, over all pages.
func (w *wire) list(t *testing.T, prefix, delimiter string, page int32) []string {
	t.Helper()
	in := &s3.ListObjectsV2Input{Bucket: aws.String(gate.Bucket), Prefix: &prefix, MaxKeys: &page}
	if delimiter != "" {
		in.Delimiter = &delimiter
	}
	var out []string
	for {
		r, err := w.ListObjectsV2(t.Context(), in)
		if err != nil {
			t.Fatalf("list %q: %v", prefix, err)
		}
		for _, p := range r.CommonPrefixes {
			out = append(out, *p.Prefix)
		}
		for _, o := range r.Contents {
			out = append(out, *o.Key)
		}
		if !*r.IsTruncated {
			return out
		}
		in.ContinuationToken = r.NextContinuationToken
	}
}
