package bolt

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

// Peek reads one record of the KV file at path without changing a byte of it, so that a file that must not
// be opened can be told from one that may. ok is false if the record is absent. Its errors are those of
// [Open].
func Peek(ctx context.Context, path, key string) (value string, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", false, fmt.Errorf("look into KV file %s: %w", path, err)
	}
	err = survivingDamage(func() error {
		if st, err := os.Stat(path); err != nil || st.Size() == 0 {
			return err // an empty file holds nothing: a process ended before it laid the file out
		}
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Nanosecond})
		if err != nil {
			return err
		}
		defer db.Close()
		s := Store{db: db, path: path}
		if err := s.checkLength(); err != nil {
			return err
		}
		return db.View(func(tx *bbolt.Tx) error {
			records := tx.Bucket(recordsBucket)
			if records == nil {
				return fmt.Errorf("%w: it is a bbolt file of another program", ErrDamaged)
			}
			r, found, err := get(records, key)
			value, ok = r.value, found
			return err
		})
	})
	if err != nil {
		return "", false, explain(path, err)
	}
	return value, ok, nil
}
