package gate

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
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
	access string    // whose it is
	used   time.Time // when it was asked for last
	dir    string
	mu     sync.Mutex
	parts  map[int32]part
}

type part struct {
	file string
	etag string
	size int64
}

func newUploads(dir string) *uploads { return &uploads{dir: dir, ids: map[string]*upload{}} }

func (u *uploads) begin(key, access string) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) >= maxUploads {
		u.forget(time.Now().Add(-idleUpload))
	}
	if len(u.ids) >= maxUploads {
		return "", fmt.Errorf("more than %d multipart uploads are under way", maxUploads)
	}
	dir, err := os.MkdirTemp(u.dir, "upload-")
	if err != nil {
		return "", fmt.Errorf("begin an upload of %s: %w", key, err)
	}
	id := rand.Text()
	u.ids[id] = &upload{key: key, access: access, dir: dir, parts: map[int32]part{}, used: time.Now()}
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
	up.used = time.Now()
	return up, nil
}

// idleUpload is after how long an upload that nobody goes on with makes room for others.
const idleUpload = time.Hour

// forget ends the uploads that nobody has asked for since; u.mu is held.
func (u *uploads) forget(since time.Time) {
	for id, up := range u.ids {
		if up.used.Before(since) {
			delete(u.ids, id)
			os.RemoveAll(up.dir)
		}
	}
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

// endOf ends all uploads of a credential: nobody else can name them.
func (u *uploads) endOf(access string) {
	u.mu.Lock()
	var gone []*upload
	for id, up := range u.ids {
		if up.access == access {
			gone = append(gone, up)
			delete(u.ids, id)
		}
	}
	u.mu.Unlock()
	for _, up := range gone {
		os.RemoveAll(up.dir)
	}
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
