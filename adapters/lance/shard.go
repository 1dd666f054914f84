package lance

import (
	"cmp"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/core"
)

// Field numbers of a ShardManifest.
const (
	smVersion protowire.Number = 1
	smTables  protowire.Number = 8
	smShardID protowire.Number = 11
)

var errShardID = errors.New("a shard id is not 16 bytes")

// ShardFile is one shard manifest with the bytes it came from.
type ShardFile struct {
	Facts core.ShardManifest // Version is what the body says
	Key   string

	manifest message
}

// ParseShard reads a shard manifest. Whatever the bytes, it returns a manifest or a failure with
// [core.CodeManifestCorrupt].
func ParseShard(key string, body []byte) (ShardFile, error) {
	s, err := parseShard(key, body)
	if err != nil {
		return ShardFile{}, corrupt(key, err.Error())
	}
	return s, nil
}

func parseShard(key string, body []byte) (ShardFile, error) {
	const uuidBytes = 1
	m, err := parse(body)
	if err != nil {
		return ShardFile{}, err
	}
	s := ShardFile{Key: key, manifest: m}
	uuid, err := s.manifest.sub(smShardID)
	if err != nil {
		return ShardFile{}, err
	}
	raw, _ := uuid.bytes(uuidBytes)
	id, ok := shardIDOf(raw)
	if !ok {
		return ShardFile{}, errShardID
	}
	version, _ := s.manifest.uint(smVersion)
	s.Facts = core.ShardManifest{Shard: id, Version: core.Version(version)}
	err = s.manifest.each(smTables, func(t message) error {
		s.Facts.SSTables = append(s.Facts.SSTables, sstableOf(t))
		return nil
	})
	if err != nil {
		return ShardFile{}, err
	}
	slices.SortStableFunc(s.Facts.SSTables, func(a, b core.SSTable) int { return cmp.Compare(a.Generation, b.Generation) })
	for i, t := range s.Facts.SSTables {
		if t.Generation == 0 || i > 0 && t.Generation == s.Facts.SSTables[i-1].Generation {
			return ShardFile{}, errors.New("a generation is 0 or stands in it twice")
		}
	}
	return s, nil
}

// Encode returns the file's bytes, the same that were parsed.
func (s ShardFile) Encode() []byte { return s.manifest.encode() }

func sstableOf(m message) core.SSTable {
	const generation, dir, inMemory, rows = 1, 2, 3, 4
	g, _ := m.uint(generation)
	t := core.SSTable{Generation: core.Generation(g), Path: m.text(dir), Size: core.Unmeasured, Rows: -1}
	if v, ok := m.uint(inMemory); ok {
		t.Size = core.Bytes(v)
	}
	if v, ok := m.uint(rows); ok {
		t.Rows = int64(v)
	}
	return t
}
