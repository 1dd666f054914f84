"""Stock writers that were there before a fence and go on after it.

    python across.py DIR

Makes tables in DIR and prints one line: {"shards": {table: [id]}}. Then it waits for a line on
stdin; meanwhile the test fences the tables. Then it lets every writer go on, from the snapshot it
had, and prints {"failures": [...]}, empty if nothing was lost and nothing was refused.
"""

import json
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
from lance.mem_wal import CompactedSsTable

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata=KEY),
        pa.field("text", pa.string()),
    ]
)
FORMATS = {
    "newer": {"data_storage_version": "2.2", "enable_stable_row_ids": True},
    "older": {"data_storage_version": "2.0", "enable_v2_manifest_paths": False},
}


def rows(first: int, last: int, text: str) -> pa.Table:
    ids = list(range(first, last))
    return pa.table({"id": ids, "text": [text] * len(ids)}, schema=SCHEMA)


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


class Table:
    """One table, and the writers that were opened before the fence."""

    def __init__(self, path: Path, how: dict) -> None:
        self.path = str(path)
        ds = lance.write_dataset(rows(0, 20, "base"), path, **how)
        ds.create_scalar_index("id", "BTREE")
        ds.tags.create("kept", 1)
        ds.update_metadata({"owner": "somebody"})
        ds.initialize_mem_wal(durable_write=True)
        self.shard = str(uuid.uuid4())
        with self.open().mem_wal_writer(self.shard) as writer:
            writer.put(rows(100, 105, "sealed"))
        self.stale = [self.open() for _ in range(6)]
        self.before = ids(self.open().to_table())
        self.writer = self.open().mem_wal_writer(self.shard)
        self.writer.put(rows(105, 110, "open"))

    def open(self) -> lance.LanceDataset:
        return lance.dataset(self.path)

    def reads_as_before(self) -> None:
        ds = self.open()
        assert ids(ds.to_table()) == self.before
        assert ids(ds.to_table(filter="id = 7")) == [7]
        assert ds.tags.list()["kept"]["version"] == 1
        metadata = ds.metadata
        assert metadata["owner"] == "somebody", metadata
        assert metadata["sluice.table_id"] == "table-1", metadata
        assert metadata["sluice.fence"] == "execution-1", metadata
        names = sorted(i.name for i in ds.describe_indices())
        assert names == ["__lance_mem_wal", "id_idx"], names
        assert len(ds.versions()) == ds.version

    def stale_append(self) -> None:
        self.stale[0].insert(rows(30, 33, "append"))

    def stale_update(self) -> None:
        self.stale[1].update({"text": "'updated'"}, where="id = 3")

    def stale_delete(self) -> None:
        self.stale[2].delete("id = 4")

    def stale_marked_merge(self) -> None:
        merge = self.stale[3].merge_insert("id").when_matched_update_all()
        merge = merge.when_not_matched_insert_all()
        merge.mark_sstables_as_compacted([CompactedSsTable(self.shard, 1)])
        merge.execute(rows(100, 105, "sealed"))

    def stale_metadata(self) -> None:
        self.stale[4].update_metadata({"owner": "another"})

    def stale_compaction(self) -> None:
        self.stale[5].optimize.compact_files()

    def fresh_maintenance(self) -> None:
        self.open().optimize.compact_files()
        self.open().optimize.optimize_indices()
        self.open().create_scalar_index("text", "BITMAP")

    def live_shard_writer(self) -> None:
        self.writer.put(rows(110, 115, "later"))
        self.writer.close()
        with self.open().mem_wal_writer(self.shard) as writer:
            seen = ids(writer.lsm_scanner().to_table())
        assert set(range(100, 115)) <= set(seen), seen

    def nothing_lost(self) -> None:
        ds = self.open()
        table = ds.to_table()
        expected = [i for i in self.before if i != 4] + [30, 31, 32]
        assert ids(table) == sorted(expected + list(range(100, 105))), ids(table)
        texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
        assert texts[3] == "updated", texts
        assert ds.metadata["sluice.table_id"] == "table-1"

    def cleanup(self) -> None:
        self.open().tags.delete("kept")
        self.open().cleanup_old_versions(older_than=timedelta(0))
        self.nothing_lost()


STEPS: list[Callable[[Table], None]] = [
    Table.reads_as_before,
    Table.stale_append,
    Table.stale_update,
    Table.stale_delete,
    Table.stale_marked_merge,
    Table.stale_metadata,
    Table.stale_compaction,
    Table.fresh_maintenance,
    Table.live_shard_writer,
    Table.nothing_lost,
    Table.cleanup,
]


def main(directory: Path) -> None:
    tables = {name: Table(directory / f"{name}.lance", how) for name, how in FORMATS.items()}
    print(json.dumps({name: [t.shard] for name, t in tables.items()}), flush=True)
    sys.stdin.readline()
    failures = []
    for name, table in tables.items():
        for step in STEPS:
            try:
                step(table)
            except Exception as error:
                failures.append(f"{name}: {step.__name__}: {type(error).__name__}: {error}")
    print(json.dumps({"failures": failures}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
