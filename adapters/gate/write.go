package gate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3response"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// PutObject implements the verb.
func (e *endpoint) PutObject(ctx context.Context, in s3response.PutObjectInput) (out s3response.PutObjectOutput, err error) {
	unread := &drain{Reader: in.Body}
	in.Body = unread
	defer func() {
		if err != nil {
			unread.rest()
		}
	}()
	r, err := e.open(ctx, "PutObject", in.Bucket, in.Key)
	if err != nil {
		return s3response.PutObjectOutput{}, err
	}
	w, err := r.form(in.IfMatch, in.IfNoneMatch, true)
	if err != nil {
		return s3response.PutObjectOutput{}, err
	}
	how, v := core.MayWrite(r.grant.Caller, r.key, w)
	if !v.OK() {
		return s3response.PutObjectOutput{}, r.refuse(v)
	}
	content, err := checked(in)
	if err != nil {
		return s3response.PutObjectOutput{}, r.refuse(failed(err))
	}
	if r.key.Kind.Publishes() {
		err = r.publish(how, content)
	} else {
		err = r.put(how, content, *in.ContentLength)
	}
	if err != nil {
		return s3response.PutObjectOutput{}, err
	}
	return s3response.PutObjectOutput{ETag: r.etag()}, nil
}

// form reads the conditions of a write. Only If-None-Match: * is known.
func (r *request) form(ifMatch, ifNoneMatch *string, whole bool) (core.Write, error) {
	if ifMatch != nil || ifNoneMatch != nil && *ifNoneMatch != "*" {
		return core.Write{}, r.refuse(core.Verdict{Status: 501, Rule: core.RuleCondition, Detail: "the only condition of a write that the gate knows is If-None-Match: *"})
	}
	return core.Write{Conditional: ifNoneMatch != nil, Whole: whole}, nil
}

// maxDrained bounds what is read of a body only to be thrown away.
const maxDrained = 512 << 20

// drain reads what is left of a refused body: a client that is still sending when the connection closes
// sees a reset, and tries again what was refused for good.
type drain struct {
	io.Reader
	ended bool // NB: reading a chunked body past its end would wait for the next request
}

func (d *drain) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.ended = d.ended || err != nil
	return n, err
}

func (d *drain) rest() {
	if !d.ended {
		_, _ = io.CopyN(io.Discard, d, maxDrained) // a sender that fails now has no answer to wait for
	}
}

// checked wraps the body so that its end is an error if a checksum that the client gave doesn't hold.
// The payload's hash in the signature is checked by the library already.
func checked(in s3response.PutObjectInput) (io.Reader, error) {
	body := in.Body
	for _, c := range []struct {
		sum  *string
		kind utils.HashType
	}{
		{in.ChecksumCRC32, utils.HashTypeCRC32}, {in.ChecksumCRC32C, utils.HashTypeCRC32C},
		{in.ChecksumSHA1, utils.HashTypeSha1}, {in.ChecksumSHA256, utils.HashTypeSha256},
		{in.ChecksumCRC64NVME, utils.HashTypeCRC64NVME},
	} {
		if c.sum == nil || *c.sum == "" {
			continue
		}
		r, err := utils.NewHashReader(body, *c.sum, c.kind)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBody, err)
		}
		body = r
	}
	return body, nil
}

// etag is that of the object as it stands now.
func (r *request) etag() string {
	info, err := r.gate.cfg.Lake.Head(r.ctx, r.name)
	if err != nil {
		return `"written"` // it is there, and somebody has deleted it since or it can't be looked at
	}
	return etagOf(info)
}

// put writes a key that is not a version.
func (r *request) put(how core.WriteHow, content io.Reader, size int64) error {
	// What the body says at its end is whether it may still be published.
	content = &guarded{Reader: content, sender: senderOf(r.ctx, r.grant), ctx: r.ctx}
	var err error
	var fresh bool
	switch how {
	case core.WritePlain:
		err = r.overwrite(content, size)
		fresh = err == nil
	case core.WriteIfAbsent:
		err = r.putIfAbsent(content)
		fresh = err == nil
	case core.WriteNew, core.WriteOwnTransaction:
		fresh, err = r.putNew(how, content)
	default:
		panic(fmt.Sprintf("a %s is not written by way %d", r.key.Kind, how))
	}
	var api interface{ StatusCode() int }
	switch {
	case errors.As(err, &api):
		return err
	case err != nil:
		return r.refuse(failed(err))
	}
	r.wrote(how, size, fresh)
	return nil
}

// wrote records a completed write of an execution. A repeat of one is no progress.
func (r *request) wrote(how core.WriteHow, size int64, fresh bool) {
	c := r.grant.Caller
	if c.Class != core.ClassExecution || !fresh {
		return
	}
	r.gate.made.add(c, r.name, how == core.WriteOwnTransaction)
	r.gate.cfg.Authority.Worked(c.Execution, Work{Written: true, Key: r.name, Bytes: core.Bytes(size)})
}

// overwrite puts over what is there. A large body is streamed, and then only to a new key: the lake
// replaces objects that fit into memory.
func (r *request) overwrite(content io.Reader, size int64) error {
	if size <= maxInMemory {
		all, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return r.gate.cfg.Lake.Put(r.ctx, r.name, all)
	}
	err := r.gate.cfg.Lake.PutIfAbsent(r.ctx, r.name, content)
	if errors.Is(err, lake.ErrExists) {
		return answer(core.Verdict{Status: 501, Rule: ruleStorage, Detail: "an object of more than 64 MiB is not put over another one; delete it first"})
	}
	return err
}

// putIfAbsent answers 412 only for a key that was read back as present.
func (r *request) putIfAbsent(content io.Reader) error {
	err := r.gate.cfg.Lake.PutIfAbsent(r.ctx, r.name, content)
	if !errors.Is(err, lake.ErrExists) {
		return err
	}
	if _, err := r.gate.cfg.Lake.Head(r.ctx, r.name); err != nil {
		return fmt.Errorf("read back a key that storage calls taken: %w", notAbsent(err))
	}
	return answer(core.Verdict{Status: 412, Rule: core.RuleOccupied, Detail: "the key exists"})
}

// notAbsent: storage has contradicted itself, which is a failure and not an absence.
func notAbsent(err error) error {
	if errors.Is(err, lake.ErrNotExist) {
		return errors.New("storage shows no such key")
	}
	return err
}

// putNew puts a file that never changes. fresh says that this call wrote it: a repeat with the same bytes
// succeeds and is no progress. Only an execution's own transaction file is written again, while no commit
// that names it has landed (a rebase does that).
func (r *request) putNew(how core.WriteHow, content io.Reader) (fresh bool, err error) {
	l, caller := r.gate.cfg.Lake, r.grant.Caller
	if how == core.WriteOwnTransaction && (r.gate.made.rewritable(caller, r.name) || guard.Out(guard.TransactionFrozen)) || guard.Out(guard.NewNamesOnly) {
		all, err := io.ReadAll(content)
		if err != nil {
			return false, err
		}
		return false, l.Put(r.ctx, r.name, all)
	}
	h := newHasher()
	content = io.TeeReader(content, h)
	err = l.PutIfAbsent(r.ctx, r.name, content)
	if !errors.Is(err, lake.ErrExists) {
		return err == nil, err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return false, err
	}
	there, err := readBack(r.ctx, l, r.name, h.digest())
	switch {
	case err != nil:
		return false, err
	case there == absent:
		return false, errors.New("storage calls the key taken and shows no such key")
	case there == presentOther:
		return false, r.refuse(core.Verdict{Status: 403, Rule: core.RuleNewNames, Detail: "the file exists with other bytes"})
	}
	return false, nil
}

// guarded is a body whose end asks once more whether its sender may still publish it.
type guarded struct {
	io.Reader
	sender sender
	ctx    context.Context
}

func (g *guarded) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	switch {
	case err == io.EOF:
		if gone := g.sender.gone(g.ctx); gone != nil {
			return n, gone
		}
	case err != nil:
		return n, fmt.Errorf("%w: %w", errBody, err)
	}
	return n, err
}
