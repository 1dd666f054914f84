package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/adapters/doctor"
	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lake/s3test"
)

func TestMain(m *testing.M) {
	s3test.Main()
	os.Exit(m.Run())
}

// script is a program that stands for a Python.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return path
}

func TestAPythonThatDoesNotFitIsFound(t *testing.T) {
	t.Parallel()
	found := examined(t, doctor.Python(""), doctor.Engine(""))
	want(t, found, "python", doctor.OK, "has pylance")
	want(t, found, "engine", doctor.OK, "pylance loads")

	without := script(t, "echo 3.12 1 none")
	found = examined(t, doctor.Python(without), doctor.Engine(without))
	want(t, found, "python", doctor.Failed, "has no pylance")
	want(t, found, "engine", doctor.Warning, "no Python to try")

	// It says that it has pylance, which does not load.
	broken := script(t, `case "$4" in *import\ lance*) echo "no GLIBC_2.28 here" >&2; exit 1;; esac
echo 3.12 1 14.0.2`)
	want(t, examined(t, doctor.Engine(broken)), "engine", doctor.Failed, "no GLIBC_2.28 here")
}

func openBucket(t *testing.T, endpoint string) *lake.S3 {
	t.Helper()
	l, err := lake.OpenS3(t.Context(), "s3://"+s3test.Bucket+"/a lake", (&s3test.Server{URL: endpoint}).Options)
	must(t, err)
	return l
}

func TestASoundBucketPassesAndKeepsNothing(t *testing.T) {
	t.Parallel()
	l := openBucket(t, s3test.Start(t).URL)
	found := examined(t, doctor.Lake(l), doctor.Apart("", l))
	for _, check := range []string{"put-if-absent", "read-after-write", "list-after-write", "lake-clock", "engine-apart"} {
		want(t, found, check, doctor.OK, "")
	}
	if infos, err := l.List(t.Context(), ""); err != nil || len(infos) > 0 {
		t.Errorf("left behind: %v %v", infos, err)
	}
}

// A bucket that answers everybody: an engine needs no credentials of the gate for it.
func TestABucketThatIsOpenToEverybodyIsFound(t *testing.T) {
	t.Parallel()
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "_sluice/doctor-") {
			w.Header().Set("Content-Length", "3")
			w.Header().Set("Last-Modified", "Tue, 01 Dec 2026 00:00:00 GMT")
			w.Header().Set("ETag", `"x"`)
		}
	}))
	t.Cleanup(public.Close)
	want(t, examined(t, doctor.Apart("", openBucket(t, public.URL))), "engine-apart", doctor.Failed, "without credentials")
}
