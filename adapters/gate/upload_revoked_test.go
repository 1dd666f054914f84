package gate

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/core"
)

// accountKey is where the library keeps the caller: a plain string.
var accountKey any = "account"

// An engine that is killed leaves its multipart uploads behind; nobody else can name them. They must go with its
// credential: the parts fill the disk, and with 4,096 of them nobody's upload begins any more.
func TestUploadsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := &Gate{credentials: newCredentials(), uploads: newUploads(dir), progress: newProgress(), made: newMade(), foreign: newForeign()}
	e := &endpoint{gate: g}
	for _, x := range []core.ExecutionID{"x1", "x2", "x3"} {
		c := g.GrantExecution(core.Execution{ID: x, Target: "events"})
		ctx := context.WithValue(t.Context(), accountKey, auth.Account{Access: c.AccessKey})
		key := "events.lance/data/" + string(x) + ".lance"
		up, err := e.CreateMultipartUpload(ctx, s3response.CreateMultipartUploadInput{Bucket: ptr(Bucket), Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.UploadPart(ctx, &s3.UploadPartInput{Bucket: ptr(Bucket), Key: &key, UploadId: &up.UploadId, PartNumber: ptr(int32(1)), Body: strings.NewReader("a part")})
		if err != nil {
			t.Fatal(err)
		}
		g.Revoke(x)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.uploads.ids) > 0 || len(left) > 0 {
		t.Errorf("after the credentials were revoked %d uploads and %d folders of parts are left, for as long as this process lives", len(g.uploads.ids), len(left))
	}
}
