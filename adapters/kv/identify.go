package kv

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/sluice-data/sluice/core"
)

// ForeignError says that the KV is for another lake, or for another version of this program: trying again
// changes nothing.
type ForeignError struct{ why string }

func (e *ForeignError) Error() string { return e.why }

// Identify returns the record that says what this KV is, and writes it when the KV has none yet: a new
// random id, the format of this program and the one lake that the KV serves from then on. It is safe to
// call it from several processes at once; all of them get the same record.
//
// It refuses a KV whose records have another format, and one that serves another lake: both errors name
// what was found and what was wanted. lakeURI must be canonical, because it is compared as text.
func Identify(ctx context.Context, store KV, lakeURI string) (core.KVRecord, error) {
	found, ok, err := Identity(ctx, store, lakeURI)
	if ok || err != nil {
		return found, err
	}
	mine := core.KVRecord{ID: rand.Text(), Format: core.Format, Lake: lakeURI}
	_, failed := store.Commit(ctx, core.Txn{
		Name: "identify",
		If:   []core.Cond{core.Absent(core.KVKey())},
		Then: []core.Op{core.Put(core.KVKey(), core.Encode(mine))},
	})
	// Whether ours was applied, somebody else's came first, or nobody knows: what is there now counts.
	found, ok, err = Identity(ctx, store, lakeURI)
	switch {
	case ok || err != nil:
		return found, err
	case failed != nil:
		return core.KVRecord{}, fmt.Errorf("give the KV its identity: %w", failed)
	}
	return core.KVRecord{}, fmt.Errorf("give the KV its identity: %s was written and is gone again", core.KVKey())
}

// Identity reads the record that says what the KV is, and checks it as [Identify] does, but writes nothing; ok
// is false when there is none yet.
func Identity(ctx context.Context, store KV, lakeURI string) (record core.KVRecord, ok bool, err error) {
	snapshot, err := store.Read(ctx, core.Range{Key: core.KVKey()})
	if err != nil {
		return record, false, fmt.Errorf("read the identity of the KV: %w", err)
	}
	if len(snapshot.Records) == 0 {
		return record, false, nil
	}
	value := snapshot.Records[0].Value
	// NB: the format is read first and alone: a later format may have fields that Decode refuses, and
	// the user must learn that the format is the reason.
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal([]byte(value), &head); err != nil {
		return record, false, fmt.Errorf("read the identity of the KV: %w", err)
	}
	if head.Format != core.Format {
		return record, false, &ForeignError{fmt.Sprintf(
			"the KV holds records of format %d and this program reads format %d: use the program that wrote them",
			head.Format, core.Format)}
	}
	if record, err = core.Decode[core.KVRecord](core.KVKey(), value); err != nil {
		return core.KVRecord{}, false, err
	}
	if record.Lake != lakeURI {
		return core.KVRecord{}, false, &ForeignError{fmt.Sprintf(
			"the KV serves the lake %s, not %s: give this lake a KV of its own (--kv)", record.Lake, lakeURI)}
	}
	return record, true, nil
}
