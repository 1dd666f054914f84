package bolt

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/core"
)

// The file has two buckets. meta holds the format and the revision; records holds every key with
//
//	8 bytes  revision that last wrote it, big endian
//	1 byte   1 if the key is leased, else 0
//	         its value
var (
	metaBucket    = []byte("meta")
	recordsBucket = []byte("records")
	formatKey     = []byte("format")
	revisionKey   = []byte("revision")
)

// fileFormat is the version of that layout.
const fileFormat = 1

// firstRevision is that of an empty store. It isn't 0, which stands for "absent" (as in etcd).
const firstRevision core.Revision = 1

const headBytes = 9

type stored struct {
	value  string
	mod    core.Revision
	leased bool
}

func (r stored) encode() []byte {
	b := make([]byte, headBytes, headBytes+len(r.value))
	binary.BigEndian.PutUint64(b, uint64(r.mod))
	if r.leased {
		b[8] = 1
	}
	return append(b, r.value...)
}

// decode copies: b points into the mapped file and is gone after the transaction.
func decode(key, b []byte) (stored, error) {
	if len(b) < headBytes || b[8] > 1 {
		return stored{}, fmt.Errorf("record %q has no valid head", key)
	}
	return stored{
		value:  string(b[headBytes:]),
		mod:    core.Revision(binary.BigEndian.Uint64(b)),
		leased: b[8] == 1,
	}, nil
}

// get returns the record of a key; ok is false if there is none.
func get(records *bbolt.Bucket, key string) (r stored, ok bool, err error) {
	b := records.Get([]byte(key))
	if b == nil {
		return stored{}, false, nil
	}
	r, err = decode([]byte(key), b)
	return r, err == nil, err
}

// scan calls visit for every record of a range, in order of keys, until it returns an error.
func scan(records *bbolt.Bucket, r core.Range, visit func(key string, r stored) error) error {
	cursor := records.Cursor()
	for k, v := cursor.Seek([]byte(r.Key)); k != nil && r.Contains(string(k)); k, v = cursor.Next() {
		record, err := decode(k, v)
		if err != nil {
			return err
		}
		if err := visit(string(k), record); err != nil {
			return err
		}
	}
	return nil
}

func number(tx *bbolt.Tx, key []byte) (uint64, error) {
	b := tx.Bucket(metaBucket).Get(key)
	if len(b) != 8 {
		return 0, fmt.Errorf("meta has no valid %s", key)
	}
	return binary.BigEndian.Uint64(b), nil
}

func setNumber(tx *bbolt.Tx, key []byte, n uint64) error {
	return tx.Bucket(metaBucket).Put(key, binary.BigEndian.AppendUint64(nil, n))
}

func revision(tx *bbolt.Tx) (core.Revision, error) {
	n, err := number(tx, revisionKey)
	return core.Revision(n), err
}

func setRevision(tx *bbolt.Tx, r core.Revision) error { return setNumber(tx, revisionKey, uint64(r)) }
