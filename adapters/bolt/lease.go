package bolt

import (
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/guard"
)

// endLeases removes every leased key, as one transaction with a revision of its own. All of them belong
// to the process that held the file: this one when it closes, a dead one when the file is opened. It looks
// at every record, and so finds a damaged one.
func endLeases(tx *bbolt.Tx) error {
	rev, err := revision(tx)
	if err != nil {
		return err
	}
	records := tx.Bucket(recordsBucket)
	var leased []string
	err = records.ForEach(func(k, v []byte) error {
		r, err := decode(k, v)
		if err == nil && r.mod > rev {
			err = fmt.Errorf("%w: record %q is of revision %d, the file of %d", ErrDamaged, k, r.mod, rev)
		}
		if err == nil && r.leased {
			leased = append(leased, string(k))
		}
		return err
	})
	if err != nil || len(leased) == 0 || guard.Out(guard.LeasesEnd) {
		return err
	}
	for _, key := range leased {
		if err := records.Delete([]byte(key)); err != nil {
			return err
		}
	}
	return setRevision(tx, rev+1)
}
