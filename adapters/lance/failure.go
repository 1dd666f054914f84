package lance

import (
	"context"
	"errors"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/core"
)

// coded is a failure whose code was set where the cause was first known, and that cause. errors.As finds
// the [core.Failure] in it, errors.Is the cause.
type coded struct {
	failure core.Failure
	cause   error
}

func (c *coded) Error() string { return c.failure.Error() }

func (c *coded) Unwrap() []error {
	if c.cause == nil {
		return []error{c.failure}
	}
	return []error{c.failure, c.cause}
}

// FailureOf is the failure in an error of this package. One without a code (a caller that gave up, a lake
// that answered in a way that nobody foresaw) is one of storage.
func FailureOf(err error) core.Failure {
	var f core.Failure
	switch {
	case err == nil, errors.As(err, &f):
		return f
	}
	return core.Failure{Code: core.CodeStorage, Detail: err.Error()}
}

func failed(code core.Code, detail string) error {
	return &coded{failure: core.Failure{Code: code, Detail: detail}}
}

// storage gives an error of the lake its code. An absent key is handled by whoever asked for it, so what
// comes here is a failure to read or write. A caller that gave up gets its own error back: nothing failed.
func storage(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := core.CodeStorage
	if errors.Is(err, lake.ErrDenied) {
		code = core.CodeAuth
	}
	return &coded{failure: core.Failure{Code: code, Detail: doing + ": " + err.Error()}, cause: err}
}

// ofShard adds the shard in which the cause of a failure lies.
func ofShard(s core.ShardID, err error) error {
	if c, ok := errors.AsType[*coded](err); ok {
		c.failure.Shard = s
	}
	return err
}

// corrupt says which file is not what it must be.
func corrupt(key string, why string) error {
	return failed(core.CodeManifestCorrupt, key+": "+why)
}
