// Package s3test is a real S3 server for tests: versitygw over a temporary directory, as a process of its own.
// A test binary that uses it calls [Main] first in its TestMain, since it is that process too.
package s3test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/debuglogger"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

// Bucket is the one bucket of a server.
const Bucket = "tables"

// The server's one account, and its region.
const (
	AccessKey = "TESTACCESSKEY"
	SecretKey = "test-secret-key"
	Region    = "us-east-1"
)

// serverEnv makes the test binary the server: its value is the server's directory.
const serverEnv = "SLUICE_TEST_S3"

// ready begins the line by which the process says where it listens.
const ready = "listens on "

// Main is the server's process, if this is one; then it does not return.
func Main() {
	dir := os.Getenv(serverEnv)
	if dir == "" {
		return
	}
	if err := serve(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve goes on until its standard input ends, which it does with the test.
func serve(dir string) error {
	debuglogger.SetLevel(debuglogger.LevelSilent)
	sidecar, err := meta.NewSideCar(filepath.Join(dir, "meta"))
	if err != nil {
		return err
	}
	be, err := posix.New(filepath.Join(dir, "data"), sidecar, posix.PosixOpts{SideCarDir: filepath.Join(dir, "meta")})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil { // the library takes an address, not a listener
		return err
	}
	root := middlewares.RootUserConfig{Access: AccessKey, Secret: SecretKey}
	account := auth.Account{Access: AccessKey, Secret: SecretKey, Role: auth.RoleAdmin}
	server, err := s3api.New(be, root, Region, auth.NewIAMServiceSingle(account), nil, nil, nil, nil,
		s3api.WithConcurrencyLimiter(1024, 1024), s3api.WithMpMaxParts(10_000), s3api.WithQuiet(), s3api.WithKeepAlive(),
		s3api.WithOnListen(func() { fmt.Println(ready + addr) }))
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return server.ServeMultiPort([]string{addr})
}

// Server is a running server.
type Server struct {
	// URL is its endpoint.
	URL string
	cmd *exec.Cmd
}

// Start starts a server with an empty bucket, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"meta", "data/" + Bucket} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	cmd.Env = append(os.Environ(), serverEnv+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &Server{cmd: cmd}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	})
	for lines := bufio.NewScanner(out); lines.Scan(); { // the library says a few things of its own
		if addr, ok := strings.CutPrefix(lines.Text(), ready); ok {
			s.URL = "http://" + addr
			return s
		}
	}
	t.Fatalf("the S3 server has not started: %s", said.String())
	return nil
}

// Options lead a client of this process to the server.
func (s *Server) Options(o *s3.Options) {
	o.BaseEndpoint, o.UsePathStyle, o.Region = &s.URL, true, Region
	o.Credentials = credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, "")
}

// Env are the variables by which every AWS program finds the server.
func (s *Server) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL_S3=" + s.URL, "AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey,
		"AWS_REGION=" + Region, "AWS_EC2_METADATA_DISABLED=true",
	}
}
