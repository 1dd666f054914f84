"""Makes the manifests that the codecs of adapters/lance are tested with.

    python testdata/lance/make.py testdata/lance

Each table is made with the real library, then only its manifests, transactions and hints are kept,
and beside them `facts.json`: what pylance itself says of every version. The test compares the two.
"""

import json
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

import lance
import lancedb
import numpy as np
import pyarrow as pa
from lance.mem_wal import CompactedSsTable
from lancedb import LsmWriteSpec

PRIMARY_KEY = b"lance-schema:unenforced-primary-key"
KEYED = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={PRIMARY_KEY: "true"}),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 8)),
    ]
)
PLAIN = pa.schema([field.remove_metadata() for field in KEYED])


def rows(first: int, last: int, schema: pa.Schema = KEYED) -> pa.Table:
    """Rows with ids from first up to but not including last."""
    ids = np.arange(first, last)
    vectors = np.outer(ids + 1, np.ones(8)).astype(np.float32).reshape(-1)
    vector = pa.FixedSizeListArray.from_arrays(pa.array(vectors), 8)
    text = pa.array([f"row {i}" for i in ids])
    return pa.table([pa.array(ids), text, vector], schema=schema)


def version_one_names(path: Path) -> None:
    ds = lance.write_dataset(rows(0, 20), path, enable_v2_manifest_paths=False)
    ds.delete("id < 3")
    lance.write_dataset(rows(20, 30), path, mode="append")


def storage(version: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        ds = lance.write_dataset(rows(0, 20), path, data_storage_version=version)
        ds.update({"text": "'changed'"}, where="id = 4")
        lance.write_dataset(rows(20, 30), path, mode="append")
        lance.dataset(path).optimize.compact_files()

    return make


def indexed(path: Path) -> None:
    ds = lance.write_dataset(rows(0, 512), path)
    ds.create_scalar_index("id", "BTREE")
    ds.create_index("vector", "IVF_PQ", num_partitions=2, num_sub_vectors=2)
    lance.write_dataset(rows(512, 530), path, mode="append")
    lance.dataset(path).optimize.optimize_indices()


def stable_row_ids(path: Path) -> None:
    ds = lance.write_dataset(rows(0, 20), path, enable_stable_row_ids=True)
    ds.delete("id = 7")
    ds.tags.create("kept", 1)
    lance.write_dataset(rows(20, 30), path, mode="append")


def many_fragments(path: Path) -> None:
    lance.write_dataset(rows(0, 600), path, max_rows_per_file=10)
    ds = lance.dataset(path)
    ds.delete("id % 50 = 0")
    ds.update_metadata({"owner": "somebody"})
    ds.update_config({"lance.auto_cleanup.interval": "50"})


def operations(path: Path) -> None:
    ds = lance.write_dataset(rows(0, 10, PLAIN), path)
    ds.add_columns({"twice": "id * 2"})
    ds = lance.dataset(path)
    ds.drop_columns(["twice"])
    lance.dataset(path, version=1).restore()
    lance.write_dataset(rows(0, 5, PLAIN), path, mode="overwrite")


def mem_wal(path: Path) -> dict[int, dict[str, int]]:
    """Returns the marks of each version: pylance writes them and has no call that reads them."""
    ds = lance.write_dataset(rows(0, 20), path)
    ds.initialize_mem_wal(durable_write=True)
    shards = [str(uuid.UUID(int=n, version=4)) for n in (1, 2)]
    for generation in range(3):
        for n, shard in enumerate(shards):
            first = 100 * n + 5 * generation
            with lance.dataset(path).mem_wal_writer(shard) as writer:
                writer.put(rows(first, first + 8))
    merge = lance.dataset(path).merge_insert("id").when_matched_update_all()
    merge = merge.when_not_matched_insert_all()
    merge.mark_sstables_as_compacted([CompactedSsTable(shards[0], 2)])
    merge.execute(rows(0, 13))
    merge = lance.dataset(path).merge_insert("id").when_matched_update_all()
    merge = merge.when_not_matched_insert_all()
    marks = [CompactedSsTable(shards[0], 3), CompactedSsTable(shards[1], 1)]
    merge.mark_sstables_as_compacted(marks)
    merge.execute(rows(10, 13))
    return {3: {shards[0]: 2}, 4: {shards[0]: 3, shards[1]: 1}}


def bucketed(path: Path) -> None:
    db = lancedb.connect(path.parent)
    table = db.create_table(path.stem, rows(0, 4, PLAIN))
    table.set_unenforced_primary_key("id")
    table.set_lsm_write_spec(LsmWriteSpec.bucket("id", 4))
    for i in range(10, 18):
        insert = table.merge_insert("id").when_matched_update_all()
        insert.when_not_matched_insert_all().execute(rows(i, i + 1, PLAIN))
        table.close_lsm_writers()  # the next row may belong to another bucket


TABLES = {
    "v1_names": version_one_names,
    "storage_2_0": storage("2.0"),
    "storage_2_1": storage("2.1"),
    "storage_2_2": storage("2.2"),
    "indexed": indexed,
    "stable_row_ids": stable_row_ids,
    "many_fragments": many_fragments,
    "operations": operations,
    "mem_wal": mem_wal,
    "bucketed": bucketed,
}


def version_facts(path: Path, version: int, marks: dict[str, int]) -> dict:
    ds = lance.dataset(path, version=version)
    transaction = ds.read_transaction(version)
    metadata = [key for field in ds.schema for key in (field.metadata or {})]
    return {
        "version": version,
        "rows": ds.count_rows(),
        "fragments": len(ds.get_fragments()),
        "operation": type(transaction.operation).__name__,
        "read_version": transaction.read_version,
        "primary_key": any(key.startswith(PRIMARY_KEY) for key in metadata),
        "mem_wal": ds.mem_wal_index_details() is not None,
        "marks": marks,
    }


def table_facts(path: Path, marks: dict[int, dict[str, int]]) -> dict:
    versions = [v["version"] for v in lance.dataset(path).versions()]
    shards = {}
    for shard in sorted(path.glob("_mem_wal/*")):
        # An SSTable's directory is named after its generation: "4b27dc1d_gen_1".
        paths = {p.name: int(p.name.split("_")[-1]) for p in shard.glob("*_gen_*")}
        shards[shard.name] = dict(sorted(paths.items()))
    return {
        "versions": [version_facts(path, v, marks.get(v, {})) for v in versions],
        "shards": shards,
    }


def kept(path: Path, table: Path) -> bool:
    """Whether a file of a table goes into the repository: its manifests and what they name."""
    parts = path.relative_to(table).parts
    if parts[0] in ("_versions", "_transactions"):
        return True
    return len(parts) > 3 and parts[0] == "_mem_wal" and parts[2] == "manifest"


def main(out: Path) -> None:
    facts = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, make in TABLES.items():
            table = Path(scratch) / f"{name}.lance"
            marks = make(table) or {}
            facts[name] = table_facts(table, marks)
            target = out / table.name
            shutil.rmtree(target, ignore_errors=True)
            for path in sorted(table.rglob("*")):
                if path.is_file() and kept(path, table):
                    copy = target / path.relative_to(table)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, copy)
    text = json.dumps(facts, indent=1, sort_keys=True)
    (out / "facts.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
