package gate

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// result is what is known of a put of a version once its turn is over.
type result uint8

const (
	resultUnknown   result = iota // it may be there or land later
	resultLanded                  // it is there, with our body
	resultConflict                // somebody else's is there, read back
	resultNotTried                // nothing went to storage
	resultSomebodys               // present, and it can't be told whose: identical bodies are possible
)

// publish puts a version: judged, admitted, in its turn.
func (r *request) publish(how core.WriteHow, content io.Reader) error {
	whole, err := readBody(content, r.gate.scratch.Path())
	if err != nil {
		return r.refuse(failed(err))
	}
	limit := r.gate.cfg.StorageTimeout
	if r.grant.Caller.Class == core.ClassExecution {
		limit = r.gate.cfg.ExecutionHold
	}
	answerBy := time.Now().Add(limit)
	s := senderOf(r.ctx, r.grant)
	held, done := s.hold(r.ctx, limit)
	defer done()
	p := &putting{request: r, sender: s, held: held, body: whole, answerBy: answerBy}
	if how == core.WriteCommit {
		return p.commit()
	}
	return p.plainVersion()
}

// putting is one version on its way. The body is handed over to storage, or closed.
type putting struct {
	*request
	sender   sender
	held     context.Context
	body     *body
	answerBy time.Time
}

// plainVersion publishes a version that needs no admission: a shard's manifest or an SSTable's own.
func (p *putting) plainVersion() error {
	res, err := p.store()
	switch res {
	case resultLanded:
		p.wrote(core.WriteIfAbsent, p.body.digest.size, true)
		if p.key.Kind == core.KeyShardManifest && p.gate.cfg.ShardLanded != nil {
			p.gate.cfg.ShardLanded(p.key.Target, p.key.Shard)
		}
		return nil
	case resultConflict, resultSomebodys:
		// NB: two writers that claim a shard at once send the same bytes, so the same bytes are not
		// ours: only one of them may be told that it won.
		return p.refuse(occupied())
	}
	return p.refuse(failed(err))
}

func occupied() core.Verdict {
	return core.Verdict{Status: 412, Rule: core.RuleOccupied, Detail: "read back as present"}
}

// store waits for the key's turn and puts the version. After resultUnknown and resultNotTried the error
// says why. It consumes the body.
func (p *putting) store() (result, error) {
	release, err := p.gate.turns.take(p.held, p.name)
	if err != nil {
		p.body.close()
		return resultNotTried, err
	}
	// What was held does not go on once nobody waits for its answer: the client may have deleted what
	// the manifest names (attack long-hold).
	if gone := p.sender.gone(p.held); gone != nil {
		release()
		p.body.close()
		return resultNotTried, gone
	}
	stored := p.toStorage(release)
	if p.grant.Caller.Class == core.ClassExecution {
		return p.interpret(<-stored)
	}
	late := time.NewTimer(time.Until(p.answerBy))
	defer late.Stop()
	select {
	case err := <-stored:
		return p.interpret(err)
	case <-late.C:
		return p.interpret(errStorageTimeout)
	}
}

// errStorageTimeout says that storage has not answered within the limit of one put.
var errStorageTimeout = errors.New("storage did not answer in time")

// toStorage starts the put and gives its answer, or errStorageTimeout. By then the turn is released. What
// is with storage goes on after that, without anybody's turn: put-if-absent decides.
func (p *putting) toStorage(release func()) <-chan error {
	g, key, body := p.gate, p.name, p.body
	ctx, cancel := context.WithTimeout(g.ctx, g.cfg.StorageTimeout)
	put, out := make(chan error, 1), make(chan error, 1)
	g.puts.Go(func() {
		defer body.close()
		put <- g.cfg.Lake.PutIfAbsent(ctx, key, body.reader())
	})
	g.puts.Go(func() {
		defer cancel()
		defer release()
		select {
		case err := <-put:
			out <- err
		case <-ctx.Done():
			out <- errStorageTimeout
		}
	})
	return out
}

// interpret says what storage's answer means. Whatever is not definite is read back: present with our
// bytes is landed, with others a conflict, and absent stays unknown, because it may still land.
func (p *putting) interpret(err error) (result, error) {
	switch {
	case err == nil:
		return resultLanded, nil
	case errors.Is(err, lake.ErrNotTried):
		return resultNotTried, err
	case errors.Is(err, lake.ErrExists) && guard.Out(guard.ReadBackBefore412):
		return resultConflict, nil
	}
	ctx, cancel := context.WithTimeout(p.gate.ctx, p.gate.cfg.StorageTimeout)
	defer cancel()
	there, rerr := readBack(ctx, p.gate.cfg.Lake, p.name, p.body.digest)
	switch {
	case rerr != nil:
		return resultUnknown, errors.Join(notAbsent(err), notAbsent(rerr))
	case there == absent:
		return resultUnknown, notAbsent(err)
	case there == presentOther:
		return resultConflict, nil
	case p.key.Kind == core.KeyBaseManifest:
		return resultLanded, nil // its transaction has a UUID: no two commits have the same bytes
	}
	return resultSomebodys, nil
}
