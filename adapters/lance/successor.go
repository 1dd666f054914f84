package lance

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/core"
	"github.com/sluice-data/sluice/guard"
)

// Entry is one entry of a table's metadata.
type Entry struct{ Key, Value string }

// Successor builds the manifest file of the next version, which differs from this one in nothing but the
// metadata entry: the file up to the Manifest is kept as it is, a transaction of its own is appended, and
// in the Manifest the version is one higher, the pointers to the old transaction are gone and everything
// else keeps its bytes and place.
//
// NB: the transaction must be in it. Without one every writer that rebases across the version fails with
// "does not have a transaction file".
//
// The uuid names the transaction. now becomes the version's time stamp, unless that would go back.
// [core.CodeTableFormat] if the manifest has writer flags that we don't know: what a flag asks of a writer
// we can't know either.
func (b BaseFile) Successor(e Entry, uuid string, now core.WallMillis) ([]byte, error) {
	if b.Facts.UnknownFlags != 0 && !guard.Out(guard.FenceUnknownFlags) {
		return nil, failed(core.CodeTableFormat, fmt.Sprintf("%s needs writer features %#x, which this program does not know; upgrade Sluice", b.Key, b.Facts.UnknownFlags))
	}
	m, err := withEntry(b.file.manifest, e)
	if err != nil {
		return nil, corrupt(b.Key, err.Error())
	}
	if m, err = withTime(m, now); err != nil {
		return nil, corrupt(b.Key, err.Error())
	}
	m = m.set(uintField(mfVersion, uint64(b.Facts.Version)+1)).without(mfTransactionFile, mfTransactionDeprecated, mfTransaction)
	next := b.file
	if !guard.Out(guard.FenceTransaction) {
		var pos uint64
		next, pos = b.file.withSection(updateMetadata(b.Facts.Version, uuid, e.Key, e.Value))
		m = m.set(uintField(mfTransaction, pos))
	}
	next.manifest = m
	return next.encode(), nil
}

// Successor builds the next manifest of the shard: the same one, version + 1. Epoch, WAL positions and
// SSTables are untouched, so a live writer reloads and goes on.
func (s ShardFile) Successor() []byte {
	return s.manifest.set(uintField(smVersion, uint64(s.Facts.Version)+1)).encode()
}

// withEntry sets one entry of the table's metadata, in its old place if it has one.
func withEntry(m message, e Entry) (message, error) {
	entry := messageField(mfTableMetadata, textField(entryKey, e.Key), textField(entryValue, e.Value))
	out := make(message, 0, len(m)+1)
	placed := false
	for _, f := range m {
		key, err := metadataKey(f)
		if err != nil {
			return nil, err
		}
		switch {
		case f.num != mfTableMetadata || key != e.Key:
			out = append(out, f)
		case !placed:
			out, placed = append(out, entry), true
		}
	}
	if !placed {
		out = append(out, entry)
	}
	return out, nil
}

// metadataKey is the key of a field that is a metadata entry, "" for any other field.
func metadataKey(f field) (string, error) {
	if f.num != mfTableMetadata || f.typ != protowire.BytesType {
		return "", nil
	}
	e, err := parse(f.val)
	return message(e).text(entryKey), err
}

// withTime sets the time stamp, unless it is that late already. Zero keeps it.
func withTime(m message, now core.WallMillis) (message, error) {
	const seconds, nanos = 1, 2
	old, err := m.sub(mfTimestamp)
	if err != nil {
		return nil, err
	}
	s, _ := old.uint(seconds)
	n, _ := old.uint(nanos)
	if int64(now) <= int64(s)*1000+int64(n)/1_000_000 {
		return m, nil
	}
	stamp := messageField(mfTimestamp, uintField(seconds, uint64(now/1000)), uintField(nanos, uint64(now%1000)*1_000_000))
	return m.set(stamp), nil
}

// SameContent checks that next is a successor of prev that changes no row, index, fragment, config or tag:
// apart from version, time stamp, transaction and our own metadata entries, both say the same, byte for
// byte. A fence that fails it must not be published.
func SameContent(prev, next BaseFile) error {
	if next.Facts.Version != prev.Facts.Version+1 {
		return fmt.Errorf("version %d does not follow %d", next.Facts.Version, prev.Facts.Version)
	}
	if !bytes.HasPrefix(next.file.head, prev.file.head) {
		return errors.New("the bytes before the manifest changed")
	}
	if prev.file.version != next.file.version {
		return errors.New("the file format changed")
	}
	a, err := content(prev.file.manifest)
	if err != nil {
		return err
	}
	b, err := content(next.file.manifest)
	if err != nil {
		return err
	}
	return sameFields(a, b)
}

// SameShardContent is [SameContent] for shard manifests: only the version differs.
func SameShardContent(prev, next ShardFile) error {
	if next.Facts.Version != prev.Facts.Version+1 {
		return fmt.Errorf("version %d does not follow %d", next.Facts.Version, prev.Facts.Version)
	}
	return sameFields(prev.manifest.without(smVersion), next.manifest.without(smVersion))
}

// content is the manifest without what a fence may change.
func content(m message) (message, error) {
	m = m.without(mfVersion, mfTimestamp, mfTransactionFile, mfTransactionDeprecated, mfTransaction)
	out := make(message, 0, len(m))
	for _, f := range m {
		key, err := metadataKey(f)
		if err != nil {
			return nil, err
		}
		if key != core.FenceKey && key != core.TableIDKey {
			out = append(out, f)
		}
	}
	return out, nil
}

func sameFields(a, b message) error {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) {
			return fmt.Errorf("%d fields became %d", len(a), len(b))
		}
		if !bytes.Equal(a[i].raw, b[i].raw) {
			return fmt.Errorf("field number %d changed", a[i].num)
		}
	}
	return nil
}
