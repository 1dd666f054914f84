package gate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// maxPage is S3's limit on the entries of one answer.
const maxPage = 1000

// page is one page of a listing: keys and common prefixes after a marker, in order.
type page struct {
	prefix, delimiter, after string
	max                      int

	objects  []s3response.Object
	prefixes []types.CommonPrefix
	last     string // the last key or common prefix given
	more     bool
}

// ListObjectsV2 implements the verb.
func (e *endpoint) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input) (s3response.ListObjectsV2Result, error) {
	after := max(backend.GetStringFromPtr(in.ContinuationToken), backend.GetStringFromPtr(in.StartAfter))
	p, err := e.list(ctx, in.Bucket, in.Prefix, in.Delimiter, after, in.MaxKeys)
	if err != nil {
		return s3response.ListObjectsV2Result{}, err
	}
	out := s3response.ListObjectsV2Result{
		Name: ptr(Bucket), Prefix: in.Prefix, Delimiter: in.Delimiter, StartAfter: in.StartAfter,
		MaxKeys: in.MaxKeys, KeyCount: ptr(int32(len(p.objects) + len(p.prefixes))), IsTruncated: &p.more,
		Contents: p.objects, CommonPrefixes: p.prefixes,
	}
	if t := backend.GetStringFromPtr(in.ContinuationToken); t != "" {
		out.ContinuationToken = &t
	}
	if p.more {
		out.NextContinuationToken = &p.last
	}
	return out, nil
}

// ListObjects implements the verb.
func (e *endpoint) ListObjects(ctx context.Context, in *s3.ListObjectsInput) (s3response.ListObjectsResult, error) {
	p, err := e.list(ctx, in.Bucket, in.Prefix, in.Delimiter, backend.GetStringFromPtr(in.Marker), in.MaxKeys)
	if err != nil {
		return s3response.ListObjectsResult{}, err
	}
	out := s3response.ListObjectsResult{
		Name: ptr(Bucket), Prefix: in.Prefix, Delimiter: in.Delimiter, Marker: in.Marker, MaxKeys: in.MaxKeys,
		IsTruncated: &p.more, Contents: p.objects, CommonPrefixes: p.prefixes,
	}
	if p.more {
		out.NextMarker = &p.last
	}
	return out, nil
}

func (e *endpoint) list(ctx context.Context, bucket, prefix, delimiter *string, after string, limit *int32) (*page, error) {
	r, err := e.open(ctx, "ListObjects", bucket, nil)
	if err != nil {
		return nil, err
	}
	p := &page{
		prefix: strings.Clone(backend.GetStringFromPtr(prefix)), delimiter: strings.Clone(backend.GetStringFromPtr(delimiter)),
		after: strings.Clone(after), max: maxPage,
	}
	if limit != nil {
		p.max = min(int(*limit), maxPage)
	}
	r.name = p.prefix
	if v := core.MayList(r.grant.Caller, p.prefix); !v.OK() {
		return nil, r.refuse(v)
	}
	if p.max <= 0 {
		return p, nil
	}
	folder := p.prefix[:strings.LastIndex(p.prefix, "/")+1]
	if folder != "" && lake.CheckKey(strings.TrimSuffix(folder, "/")) != nil {
		return p, nil // no key can have such a prefix
	}
	if err := p.walk(ctx, r.gate.cfg.Lake, folder); err != nil {
		return nil, answer(failed(err))
	}
	return p, nil
}

// walk visits a folder in the order of keys. One page costs a listing of each folder that it enters and
// one look at each object that it gives.
func (p *page) walk(ctx context.Context, l lake.Lake, folder string) error {
	level, err := l.Children(ctx, folder)
	if err != nil {
		return err
	}
	names := level.Objects
	for _, f := range level.Folders {
		names = append(names, f+"/")
	}
	// A folder sorts by its name with the slash, as its keys do.
	slices.Sort(names)
	for _, name := range names {
		key := folder + name
		switch {
		case p.more:
			return nil
		case core.Classify(strings.TrimSuffix(key, "/")+"/x").Kind == core.KeySluice, !p.matches(key):
			continue
		}
		if rest, ok := strings.CutPrefix(key, p.prefix); ok && p.delimiter != "" {
			if i := strings.Index(rest, p.delimiter); i >= 0 {
				if err := p.group(ctx, l, key, p.prefix+rest[:i+len(p.delimiter)]); err != nil {
					return err
				}
				continue
			}
		}
		if strings.HasSuffix(key, "/") {
			err = p.walk(ctx, l, key)
		} else {
			err = p.give(ctx, l, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// matches reports whether a key, or a key in a folder, can be on the page.
func (p *page) matches(key string) bool {
	if strings.HasSuffix(key, "/") {
		inPrefix := strings.HasPrefix(key, p.prefix) || strings.HasPrefix(p.prefix, key)
		return inPrefix && (key > p.after || strings.HasPrefix(p.after, key))
	}
	return strings.HasPrefix(key, p.prefix) && key > p.after
}

// group gives the common prefix of a key, or of a folder's keys, once. One at or before the marker was given
// by an earlier page.
func (p *page) group(ctx context.Context, l lake.Lake, key, prefix string) error {
	if prefix <= p.after || prefix == p.last {
		return nil
	}
	if strings.HasSuffix(key, "/") {
		// NB: on a local lake the folders of a dropped table stay behind, and LanceDB takes every
		// folder that it is shown for a table.
		any, err := hasObjects(ctx, l, key)
		if err != nil || !any {
			return err
		}
	}
	if !p.full() {
		p.prefixes = append(p.prefixes, types.CommonPrefix{Prefix: &prefix})
		p.last = prefix
	}
	return nil
}

// hasObjects looks for one object at any depth: a folder without any is no common prefix of anything.
func hasObjects(ctx context.Context, l lake.Lake, folder string) (bool, error) {
	level, err := l.Children(ctx, folder)
	if err != nil || len(level.Objects) > 0 {
		return err == nil, err
	}
	for _, f := range level.Folders {
		if any, err := hasObjects(ctx, l, folder+f+"/"); any || err != nil {
			return any, err
		}
	}
	return false, nil
}

func (p *page) give(ctx context.Context, l lake.Lake, key string) error {
	info, err := l.Head(ctx, key)
	if errors.Is(err, lake.ErrNotExist) {
		return nil // deleted since the folder was read
	}
	if err != nil {
		return err
	}
	if p.full() {
		return nil
	}
	p.objects = append(p.objects, s3response.Object{
		Key: &key, Size: &info.Size, LastModified: &info.ModTime, ETag: ptr(etagOf(info)), StorageClass: types.ObjectStorageClassStandard,
	})
	p.last = key
	return nil
}

// full reports whether the page has no room; then there is more.
func (p *page) full() bool {
	p.more = len(p.objects)+len(p.prefixes) >= p.max
	return p.more
}
