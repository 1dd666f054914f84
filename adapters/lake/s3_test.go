package lake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
)

// at leads the client to a server, as its account.
func at(endpoint string) func(*s3.Options) {
	return func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle, o.Region = &endpoint, true, s3test.Region
		o.Credentials = credentials.NewStaticCredentialsProvider(s3test.AccessKey, s3test.SecretKey, "")
	}
}

func openS3(t *testing.T, uri, endpoint string, change ...func(*s3.Options)) *lake.S3 {
	t.Helper()
	l, err := lake.OpenS3(t.Context(), uri, append([]func(*s3.Options){at(endpoint)}, change...)...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAnS3LakeKeepsWhatALakeKeeps(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for _, prefix := range []string{"", "/a/b c"} {
		t.Run("under "+prefix, func(t *testing.T) {
			l := openS3(t, "s3://"+s3test.Bucket+prefix, server.URL)
			if want := "s3://" + s3test.Bucket + prefix; l.URI() != want {
				t.Errorf("its URI is %s, want %s", l.URI(), want)
			}
			ctx := t.Context()
			publish(t, l, "t.lance/_versions/1.manifest", "one")
			publish(t, l, "t.lance/_versions/2 ü%2F+.manifest", "two")
			publish(t, l, "t.lance/data/x", "data")
			publish(t, l, "top", "top")
			if err := l.PutIfAbsent(ctx, "top", strings.NewReader("other")); !errors.Is(err, lake.ErrExists) {
				t.Errorf("a second put of a name: %v", err)
			}
			wantBody(t, l, "top", "top")
			wantBody(t, l, "t.lance/_versions/2 ü%2F+.manifest", "two")
			if err := l.Put(ctx, "top", []byte("over")); err != nil {
				t.Error(err)
			}
			wantBody(t, l, "top", "over")

			all, err := l.List(ctx, "t.lance/")
			var keys []string
			for _, i := range all {
				keys = append(keys, fmt.Sprintf("%s %d", i.Key, i.Size))
			}
			if want := []string{"t.lance/_versions/1.manifest 3", "t.lance/_versions/2 ü%2F+.manifest 3", "t.lance/data/x 4"}; err != nil || !slices.Equal(keys, want) {
				t.Errorf("list: got %v, %v, want %v", keys, err, want)
			}
			level, err := l.Children(ctx, "t.lance/")
			if err != nil || !slices.Equal(level.Folders, []string{"_versions", "data"}) || len(level.Objects) != 0 {
				t.Errorf("children: got %+v, %v", level, err)
			}
			if level, err := l.Children(ctx, "nothing/"); err != nil || len(level.Folders)+len(level.Objects) != 0 {
				t.Errorf("children of nothing: got %+v, %v", level, err)
			}

			for call, err := range map[string]error{
				"get": result(l.Get(ctx, "absent")), "head": result(l.Head(ctx, "absent")), "open": opened(l.Open(ctx, "absent")),
			} {
				if !errors.Is(err, lake.ErrNotExist) {
					t.Errorf("%s what isn't there: %v", call, err)
				}
			}
			if err := errors.Join(l.Delete(ctx, "top"), l.Delete(ctx, "top")); err != nil {
				t.Errorf("delete twice: %v", err)
			}
			if err := lake.Probe(ctx, l); err != nil {
				t.Errorf("probe: %v", err)
			}
		})
	}
}

func result[A any](_ A, err error) error { return err }

func opened(r io.ReadCloser, _ lake.Info, err error) error {
	if err == nil {
		err = r.Close()
	}
	return err
}

func TestAnObjectIsReadFromTheMiddleAndOnlyWhileItIsTheSame(t *testing.T) {
	t.Parallel()
	l := openS3(t, "s3://"+s3test.Bucket, s3test.Start(t).URL)
	ctx := t.Context()
	body := bytes.Repeat([]byte("0123456789"), 1<<20) // more than is kept in memory for a put
	// iotest's reader can't be measured or moved, as a request's body.
	if err := l.PutIfAbsent(ctx, "x", iotest.HalfReader(bytes.NewReader(body))); err != nil {
		t.Fatal(err)
	}
	r, info, err := l.Open(ctx, "x")
	if err != nil || info.Size != int64(len(body)) {
		t.Fatalf("open: %+v, %v", info, err)
	}
	if _, err := r.(io.Seeker).Seek(int64(len(body))-15, io.SeekCurrent); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "567890123456789" {
		t.Errorf("from the middle: got %q, %v", got, err)
	}
	if _, err := r.(io.Seeker).Seek(1, io.SeekCurrent); err == nil {
		t.Error("it moves after it was read")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	r, _, err = l.Open(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := l.Put(ctx, "x", []byte("another")); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err == nil {
		t.Errorf("an object that was replaced meanwhile is read as %d bytes", len(got))
	}
}

func TestOneOfManyPutsOfANameWinsOnS3(t *testing.T) {
	t.Parallel()
	l := openS3(t, "s3://"+s3test.Bucket, s3test.Start(t).URL)
	for round := range 10 {
		const racers = 16
		key := fmt.Sprintf("t.lance/_versions/%d.manifest", round)
		results := make(chan error, racers)
		for i := range racers {
			go func() { results <- l.PutIfAbsent(t.Context(), key, strings.NewReader(fmt.Sprint(i))) }()
		}
		won := 0
		for range racers {
			switch err := <-results; {
			case err == nil:
				won++
			case !errors.Is(err, lake.ErrExists):
				t.Errorf("round %d: %v", round, err)
			}
		}
		if won != 1 {
			t.Errorf("round %d: %d puts won", round, won)
		}
	}
}

// What a store or a network in between may answer to a put, and what is known then. Each is sent once.
func TestAPutIfAbsentIsSentOnceAndItsAnswerIsNeverGuessed(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for name, c := range map[string]struct {
		answer     func(w http.ResponseWriter, r *http.Request, through http.Handler)
		want, not  error // what the error is, and what it isn't
		landed     bool
		wantedOnce bool
	}{
		"409":                 {status(409, false), nil, lake.ErrExists, false, true},
		"500":                 {status(500, false), nil, lake.ErrNotTried, false, true},
		"503":                 {status(503, false), nil, lake.ErrNotTried, false, true},
		"403":                 {status(403, false), lake.ErrDenied, lake.ErrExists, false, true},
		"412":                 {status(412, false), lake.ErrExists, nil, false, true},
		"it landed, then 500": {status(500, true), nil, lake.ErrExists, true, true},
		"it landed, then cut": {func(w http.ResponseWriter, r *http.Request, through http.Handler) {
			through.ServeHTTP(httptest.NewRecorder(), r)
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = c.Close()
			}
		}, nil, lake.ErrExists, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			puts := &atomic.Int64{}
			front := between(t, server.URL, func(w http.ResponseWriter, r *http.Request, through http.Handler) {
				if r.Method == http.MethodPut {
					puts.Add(1)
					c.answer(w, r, through)
					return
				}
				through.ServeHTTP(w, r)
			})
			key := url.PathEscape(name)
			err := openS3(t, "s3://"+s3test.Bucket, front).PutIfAbsent(t.Context(), key, strings.NewReader("x"))
			if err == nil || c.want != nil && !errors.Is(err, c.want) || c.not != nil && errors.Is(err, c.not) {
				t.Errorf("got %v", err)
			}
			if puts.Load() != 1 {
				t.Errorf("it was sent %d times", puts.Load())
			}
			_, err = openS3(t, "s3://"+s3test.Bucket, server.URL).Head(t.Context(), key)
			if (err == nil) != c.landed {
				t.Errorf("it landed: %v, want %v", err, c.landed)
			}
		})
	}
}

func status(code int, land bool) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, through http.Handler) {
		if land {
			through.ServeHTTP(httptest.NewRecorder(), r)
		}
		w.WriteHeader(code)
	}
}

// between is a server in front of another one.
func between(t *testing.T, to string, do func(http.ResponseWriter, *http.Request, http.Handler)) string {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host // it is signed
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { do(w, r, through) }))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAStoreThatIsNotThereWasNotTried(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openS3(t, "s3://"+s3test.Bucket, nobody).PutIfAbsent(t.Context(), "x", strings.NewReader("")); !errors.Is(err, lake.ErrNotTried) {
		t.Errorf("got %v", err)
	}
}

func TestAnS3LakeThatCannotBeUsedSaysSo(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for uri, words := range map[string]string{
		"s3:///x": "s3://BUCKET/PREFIX", "s3://b?x=1": "s3://BUCKET/PREFIX", "http://b/x": "s3://BUCKET/PREFIX",
		"s3://b/a//b": "empty segment", "s3://b/../c": "segment", "s3://tables--use1-az4--x-s3/p": "directory bucket",
	} {
		if _, err := lake.OpenS3(t.Context(), uri); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %v, want %q", uri, err, words)
		}
	}
	wrong := openS3(t, "s3://"+s3test.Bucket, server.URL, func(o *s3.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(s3test.AccessKey, "another secret", "")
	})
	if _, err := wrong.Get(t.Context(), "x"); !errors.Is(err, lake.ErrDenied) {
		t.Errorf("with wrong credentials: %v", err)
	}
	if _, err := openS3(t, "s3://no-such-bucket", server.URL).List(t.Context(), ""); err == nil || errors.Is(err, lake.ErrNotExist) {
		t.Errorf("a listing of a bucket that isn't there: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := openS3(t, "s3://"+s3test.Bucket, server.URL).PutIfAbsent(over, "x", strings.NewReader("")); !errors.Is(err, lake.ErrNotTried) {
		t.Errorf("with a cancelled context: %v", err)
	}
}

func TestALakeInsideAnotherPrefixIsRefused(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	outer := openS3(t, "s3://"+s3test.Bucket+"/a", server.URL)
	if err := lake.Claim(t.Context(), outer, "kv1"); err != nil {
		t.Fatal(err)
	}
	var nested *lake.NestedError
	if err := lake.Claim(t.Context(), openS3(t, "s3://"+s3test.Bucket+"/a/b/c", server.URL), "kv1"); !errors.As(err, &nested) {
		t.Errorf("inside: %v", err)
	}
	if err := lake.Claim(t.Context(), openS3(t, "s3://"+s3test.Bucket+"/ab", server.URL), "kv1"); err != nil {
		t.Errorf("beside: %v", err)
	}
	var other *lake.OtherKVError
	if err := lake.Claim(t.Context(), outer, "kv2"); !errors.As(err, &other) {
		t.Errorf("another KV: %v", err)
	}
}
