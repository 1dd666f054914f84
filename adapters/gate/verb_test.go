package gate

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/versity/versitygw/backend"
)

// What the gate does with each verb that the library knows. A verb that is in neither list has been seen
// by nobody (attack new-verb).
var (
	forwarded = strings.Fields(`AbortMultipartUpload CompleteMultipartUpload CopyObject CreateMultipartUpload
		DeleteObject DeleteObjects GetBucketAcl GetBucketCors GetBucketPolicy GetBucketVersioning GetObject
		GetObjectLockConfiguration HeadBucket HeadObject ListBuckets ListMultipartUploads ListObjects
		ListObjectsV2 ListParts PutObject Shutdown String UploadPart`)
	refused = strings.Fields(`ChangeBucketOwner CreateBucket DeleteBucket DeleteBucketCors
		DeleteBucketOwnershipControls DeleteBucketPolicy DeleteBucketTagging DeleteBucketWebsite
		DeleteObjectTagging GetBucketOwnershipControls GetBucketTagging GetBucketWebsite GetObjectAcl
		GetObjectAttributes GetObjectLegalHold GetObjectRetention GetObjectTagging ListBucketsAndOwners
		ListObjectVersions NormalizeObjectKey PutBucketAcl PutBucketCors PutBucketOwnershipControls
		PutBucketPolicy PutBucketTagging PutBucketVersioning PutBucketWebsite PutObjectAcl PutObjectLegalHold
		PutObjectLockConfiguration PutObjectRetention PutObjectTagging RestoreObject SelectObjectContent
		UploadPartCopy`)
)

func TestEveryVerbOfTheLibraryIsListed(t *testing.T) {
	t.Parallel()
	verbs := reflect.TypeFor[backend.Backend]()
	ours := reflect.TypeFor[*endpoint]()
	for i := range verbs.NumMethod() {
		name := verbs.Method(i).Name
		inForwarded, inRefused := slices.Contains(forwarded, name), slices.Contains(refused, name)
		if inForwarded == inRefused {
			t.Errorf("the library's verb %s must be in exactly one of the lists", name)
			continue
		}
		m, _ := ours.MethodByName(name)
		if own := isOurs(m); own != inForwarded {
			t.Errorf("%s is implemented by us: %t, listed as forwarded: %t", name, own, inForwarded)
		}
	}
}

// isOurs tells a method from one that the embedded default lends: the compiler makes a wrapper for that
// one, which stands in no file.
func isOurs(m reflect.Method) bool {
	f := runtime.FuncForPC(m.Func.Pointer())
	file, _ := f.FileLine(f.Entry())
	return strings.HasSuffix(file, ".go")
}
