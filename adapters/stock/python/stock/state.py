"""The state of a table's MemWAL: its shards with their SSTables, and the marks of its base."""

import tempfile
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import lance

from stock.location import Location
from stock.wire import fields

NEWEST = 2**64 - 1


@dataclass(frozen=True)
class SSTable:
    generation: int
    path: str


@dataclass(frozen=True)
class Shard:
    id: str
    manifest_version: int
    writer_epoch: int
    current_generation: int
    spec_id: int
    sstables: list[SSTable]


@dataclass(frozen=True)
class State:
    version: int
    # False: the base has no MemWAL index (any more), so whatever lies in its shards is in no view.
    mem_wal: bool
    marks: dict[str, int]
    shards: list[Shard]

    def pending(self, shard: Shard) -> list[SSTable]:
        """The SSTables of a shard that the base has not taken in yet, oldest first."""
        if not self.mem_wal:
            return []
        return [s for s in shard.sstables if s.generation > self.marks.get(shard.id, 0)]

    def to_json(self) -> dict:
        pending = {shard.id: [s.generation for s in self.pending(shard)] for shard in self.shards}
        return asdict(self) | {"pending": pending}


def state_of(table: Location) -> tuple[State, lance.LanceDataset]:
    """The state of a table, with the base version that its marks were read from.

    Shards first: an SSTable that a merge takes in meanwhile is then skipped by the newer mark, and what is
    flushed later is not in the view of this moment.
    """
    shards = [_shard(table, shard) for shard in _shard_ids(table)]
    base = table.dataset()
    marks = marks_of(table, base.version)
    return State(base.version, marks is not None, marks or {}, shards), base


def marks_of(table: Location, version: int) -> dict[str, int] | None:
    """The last generation of each shard that a version of the base has taken in; None without MemWAL."""
    names = (f"_versions/{NEWEST - version:020}.manifest", f"_versions/{version}.manifest")
    files = table.files()
    body = _read(table, next(name for name in names if files.contains(name)))
    position = int.from_bytes(body[-16:-8], "little")
    manifest = fields(_prefixed(body, position))
    if not manifest[6]:
        return None
    for index in fields(_prefixed(body, manifest[6][0]))[1]:
        index = fields(index)
        if index[3] == [b"__lance_mem_wal"]:
            details = fields(fields(index[6][0])[2][0])
            marks = [fields(mark) for mark in details[9]]
            return {_uuid(mark[1][0]): (mark[2] or [0])[0] for mark in marks}
    return None


def _shard_ids(table: Location) -> list[str]:
    prefixes = table.files().list_with_delimiter("_mem_wal").common_prefixes
    return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in prefixes)


def _shard(table: Location, shard: str) -> Shard:
    folder = f"_mem_wal/{shard}/manifest"
    names = [n for n in table.files().list_with_delimiter(folder).objects if n.endswith(".binpb")]
    # A name is the bits of the version in reverse, so that neighbours lie apart in an object store.
    newest = max(names, key=lambda name: int(Path(name).stem[::-1], 2))
    manifest = fields(_read(table, newest))
    sstables = [fields(sstable) for sstable in manifest[8]]
    return Shard(
        id=shard,
        manifest_version=manifest[1][0],
        writer_epoch=(manifest[2] or [0])[0],
        current_generation=(manifest[6] or [0])[0],
        spec_id=(manifest[10] or [0])[0],
        sstables=sorted((SSTable(s[1][0], s[2][0].decode()) for s in sstables), key=lambda s: s.generation),
    )


def _read(table: Location, path: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        local = Path(directory) / "file"
        table.files().download_file(path, local)
        return local.read_bytes()


def _prefixed(body: bytes, position: int) -> bytes:
    size = int.from_bytes(body[position : position + 4], "little")
    return body[position + 4 : position + 4 + size]


def _uuid(message: bytes) -> str:
    return str(uuid.UUID(bytes=fields(message)[1][0]))
