package bolt

import (
	"go.etcd.io/bbolt"

	"github.com/sluice-data/sluice/guard"
)

// endLeases removes every leased key, as one transaction with a revision of its own. All of them belong
// to the process that held the file: this one when it closes, a dead one when the file is opened.
func endLeases(tx *bbolt.Tx) error {
	records := tx.Bucket(recordsBucket)
	var leased []string
	err := records.ForEach(func(k, v []byte) error {
		r, err := decode(k, v)
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
	rev, err := revision(tx)
	if err != nil {
		return err
	}
	return setRevision(tx, rev+1)
}
