package lance

import (
	"path"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/core"
)

// Field numbers of a Manifest.
const (
	mfFields                protowire.Number = 1
	mfFragments             protowire.Number = 2
	mfVersion               protowire.Number = 3
	mfIndexSection          protowire.Number = 6
	mfTimestamp             protowire.Number = 7
	mfWriterFlags           protowire.Number = 10
	mfTransactionFile       protowire.Number = 12
	mfTableMetadata         protowire.Number = 19
	mfTransactionDeprecated protowire.Number = 21
	mfTransaction           protowire.Number = 23
)

// memWALIndex is the name of the index whose details hold the marks.
const memWALIndex = "__lance_mem_wal"

// knownWriterFlags are the writer feature flags of Lance 14.0.2 under which a metadata-only successor
// means nothing new: deletion files, stable row ids, the old v2 flag, config, base paths, no transaction
// files, covering columns, mixed file versions, fragment reuse, spilled row lineage, managed blobs and
// field ids that are never reused. The others Lance 14.0.2 refuses itself.
const knownWriterFlags = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<7 | 1<<8 | 1<<10 | 1<<11 | 1<<14 | 1<<15

// BaseFile is one base manifest with the bytes it came from.
type BaseFile struct {
	// Facts come from the body: Version is what the body says, which may differ from the name. Scheme
	// comes from the name and is empty if the name is no manifest's.
	Facts core.BaseManifest
	Key   string
	// Fragments and Rows count what the version holds; rows without the deleted ones.
	Fragments int
	Rows      int64
	// TransactionFile names the file below _transactions/ that holds the transaction of this version;
	// it may be set beside an inline one. Empty if the manifest names none.
	TransactionFile string
	// UUID names the transaction that made this version, where it is inline.
	UUID string

	file file
}

// ParseBase reads a base manifest. The key names it in errors and gives the naming scheme. Whatever the
// bytes, it returns a manifest or a failure with [core.CodeManifestCorrupt].
func ParseBase(key string, body []byte) (BaseFile, error) {
	b, err := parseBase(key, body)
	if err != nil {
		return BaseFile{}, corrupt(key, err.Error())
	}
	return b, nil
}

func parseBase(key string, body []byte) (BaseFile, error) {
	f, err := splitFile(body)
	if err != nil {
		return BaseFile{}, err
	}
	b := BaseFile{Key: key, TransactionFile: f.manifest.text(mfTransactionFile), file: f}
	b.Facts.Scheme, _, _ = ParseBaseName(path.Base(key))
	version, _ := f.manifest.uint(mfVersion)
	b.Facts.Version = core.Version(version)
	flags, _ := f.manifest.uint(mfWriterFlags)
	b.Facts.UnknownFlags = flags &^ knownWriterFlags
	if err := b.readMetadata(); err != nil {
		return BaseFile{}, err
	}
	if err := b.readSchema(); err != nil {
		return BaseFile{}, err
	}
	if err := b.readFragments(); err != nil {
		return BaseFile{}, err
	}
	if err := b.readMarks(); err != nil {
		return BaseFile{}, err
	}
	b.readTransaction()
	return b, nil
}

// Encode returns the file's bytes, the same that were parsed.
func (b BaseFile) Encode() []byte { return b.file.encode() }

func (b *BaseFile) readMetadata() error {
	return b.file.manifest.each(mfTableMetadata, func(e message) error {
		if e.text(entryKey) == core.TableIDKey {
			b.Facts.TableID = core.TableID(e.text(entryValue))
		}
		return nil
	})
}

// readSchema finds out whether a field is part of the unenforced primary key. Older writers set only the
// flag, newer ones the position too.
func (b *BaseFile) readSchema() error {
	const inKey, keyPosition = 12, 13
	return b.file.manifest.each(mfFields, func(f message) error {
		flag, _ := f.uint(inKey)
		position, _ := f.uint(keyPosition)
		if flag != 0 || position > 0 {
			b.Facts.PrimaryKey = true
		}
		return nil
	})
}

func (b *BaseFile) readFragments() error {
	const physicalRows, deletionFile, deletedRows = 4, 3, 4
	return b.file.manifest.each(mfFragments, func(f message) error {
		b.Fragments++
		rows, _ := f.uint(physicalRows)
		deletion, err := f.sub(deletionFile)
		if err != nil {
			return err
		}
		deleted, _ := deletion.uint(deletedRows)
		b.Rows += int64(rows) - int64(deleted)
		return nil
	})
}

// readMarks reads the marks out of the MemWAL index.
func (b *BaseFile) readMarks() error {
	const indices, indexName, indexDetails, anyValue, compacted, shardID, uuidBytes, generation = 1, 3, 6, 2, 9, 1, 1, 2
	pos, ok := b.file.manifest.uint(mfIndexSection)
	if !ok {
		return nil
	}
	section, err := b.file.section(pos)
	if err != nil {
		return err
	}
	return section.each(indices, func(index message) error {
		if index.text(indexName) != memWALIndex {
			return nil
		}
		b.Facts.MemWAL = true
		wrapped, err := index.sub(indexDetails)
		if err != nil {
			return err
		}
		details, err := wrapped.sub(anyValue)
		if err != nil {
			return err
		}
		return details.each(compacted, func(m message) error {
			uuid, err := m.sub(shardID)
			if err != nil {
				return err
			}
			raw, _ := uuid.bytes(uuidBytes)
			id, ok := shardIDOf(raw)
			if !ok {
				return errShardID
			}
			g, _ := m.uint(generation)
			b.Facts.Marks = b.Facts.Marks.With(id, max(core.Generation(g), b.Facts.Marks.Of(id)))
			return nil
		})
	})
}

// readTransaction reads the inline transaction. Lance says that a reader must not fail over one that it
// can't decode, so such a one is an operation of another kind, which no execution may publish.
func (b *BaseFile) readTransaction() {
	pos, ok := b.file.manifest.uint(mfTransaction)
	if !ok {
		pos, ok = b.file.manifest.uint(mfTransactionDeprecated)
	}
	if !ok {
		return
	}
	b.Facts.Operation = core.OpOther
	if m, err := b.file.section(pos); err == nil {
		t := transactionOf(m)
		b.Facts.ReadVersion, b.Facts.Operation, b.UUID = t.ReadVersion, t.Operation, t.UUID
	}
}
