package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/core"
)

// The file has two buckets. meta holds the format and the revision; records holds every key with
//
//	4 bytes  CRC-32C of its key and of all that follows, big endian
//	8 bytes  revision that last wrote it, big endian
//	1 byte   1 if the key is leased, else 0
//	         its value
//
// bbolt checks its two meta pages only; the sum is what makes a damaged record an error instead of a lie.
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

const (
	sumBytes  = 4
	headBytes = sumBytes + 9
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, rest)
}

type stored struct {
	value  string
	mod    core.Revision
	leased bool
}

func (r stored) encode(key []byte) []byte {
	b := make([]byte, headBytes, headBytes+len(r.value))
	binary.BigEndian.PutUint64(b[sumBytes:], uint64(r.mod))
	if r.leased {
		b[headBytes-1] = 1
	}
	b = append(b, r.value...)
	binary.BigEndian.PutUint32(b, sum(key, b[sumBytes:]))
	return b
}

// decode copies: b points into the mapped file and is gone after the transaction.
func decode(key, b []byte) (stored, error) {
	if len(b) < headBytes || binary.BigEndian.Uint32(b) != sum(key, b[sumBytes:]) {
		return stored{}, fmt.Errorf("%w: record %q", ErrDamaged, key)
	}
	return stored{
		value:  string(b[headBytes:]),
		mod:    core.Revision(binary.BigEndian.Uint64(b[sumBytes:])),
		leased: b[headBytes-1] == 1,
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
		return 0, fmt.Errorf("%w: meta has no valid %s", ErrDamaged, key)
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
