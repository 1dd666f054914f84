"""Makes tables with SSTables and reads them back, for the engine's tests: one JSON request a line.

What a table must hold after a merge comes from Lance's own LSM scanner, which shares no code with the
engine.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from lance.mem_wal import LsmScanner, ShardSnapshot

TYPES = {
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "vector": pa.list_(pa.float32(), 4),
    "nested": pa.list_(pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])),
}
PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}


def _field(name: str, kind: str, key: list[str]) -> pa.Field:
    if kind == "blob":
        return lance.blob_field(name)
    return pa.field(name, TYPES[kind], name not in key, PRIMARY_KEY if name in key else None)


def _array(field: pa.Field, rows: list[dict[str, Any]]) -> pa.Array:
    values = [r.get(field.name) for r in rows]
    if field.type == pa.binary():
        values = [v and v.encode() for v in values]
    if isinstance(field.type, pa.BaseExtensionType):
        return lance.blob_array([v and v.encode() for v in values])
    return pa.array(values, field.type)


def _table(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table([_array(f, rows) for f in schema], schema=schema)


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    rows = [
        {k: v.decode() if isinstance(v, bytes) else v for k, v in row.items()} for row in table.to_pylist()
    ]
    return sorted(rows, key=lambda r: json.dumps(r, sort_keys=True))


def _sstables(dir: str, shard: str) -> list[tuple[int, Path]]:
    folder = Path(dir, "_mem_wal", shard)
    return sorted((int(p.name.rpartition("_")[2]), p) for p in folder.glob("*_gen_*"))


class Server:
    def make(self, dir: str, columns: list[list[str]], key: list[str], rows: list[dict], lsm: bool) -> None:
        schema = pa.schema([_field(name, kind, key) for name, kind in columns])
        dataset = lance.write_dataset(_table(schema, rows), dir, data_storage_version="2.2")
        if lsm:
            dataset.initialize_mem_wal()

    def bulk(self, dir: str, rows: int, width: int) -> None:
        """A large base: ids from 0 and a text of that many bytes in each row."""
        schema = pa.schema([_field("id", "int64", ["id"]), _field("v", "string", [])])
        text = "x" * width
        batches = (
            pa.record_batch(
                [pa.array(range(i, min(i + 2000, rows))), [text] * min(2000, rows - i)], schema=schema
            )
            for i in range(0, rows, 2000)
        )
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        lance.write_dataset(reader, dir).initialize_mem_wal()

    def put(self, dir: str, shard: str, rows: list[dict], delete: list[dict], order: str) -> None:
        """One generation: rows and deletes in that order ("delete last" or "delete first")."""
        dataset = lance.dataset(dir)
        key = [f.name() for f in dataset.lance_schema.unenforced_primary_key()]
        keys = pa.schema([dataset.schema.field(n) for n in key])
        with dataset.mem_wal_writer(shard) as writer:
            if order == "delete first" and delete:
                writer.delete(_table(keys, delete))
            if rows:
                writer.put(_table(dataset.schema, rows))
            if order == "delete last" and delete:
                writer.delete(_table(keys, delete))

    def shard(self, dir: str, shard: str) -> list[dict[str, Any]]:
        return [
            {
                "generation": g,
                "path": p.name,
                "bytes": sum(f.stat().st_size for f in p.rglob("*.lance")),
            }
            for g, p in _sstables(dir, shard)
        ]

    def view(self, dir: str, shards: list[str]) -> list[dict[str, Any]]:
        snapshots = []
        for shard in shards:
            snapshot = ShardSnapshot(shard)
            for g, path in _sstables(dir, shard):
                snapshot = snapshot.with_sstable(g, path.name)
            snapshots.append(snapshot)
        return _rows(LsmScanner.from_snapshots(lance.dataset(dir), snapshots).to_table())

    def base(self, dir: str) -> dict[str, Any]:
        dataset = lance.dataset(dir)
        return {"version": dataset.version, "rows": _rows(dataset.to_table(blob_handling="all_binary"))}

    def count(self, dir: str, filter: str) -> int:
        return lance.dataset(dir).count_rows(filter=filter)

    def append(self, dir: str, rows: list[dict]) -> None:
        dataset = lance.dataset(dir)
        dataset.insert(_table(dataset.schema, rows))

    def evolve(self, dir: str, add: str, rename: list[str], drop: str) -> None:
        dataset = lance.dataset(dir)
        dataset.add_columns(pa.field(add, pa.string()))
        dataset.alter_columns({"path": rename[0], "name": rename[1]})
        dataset.drop_columns([drop])

    def marked(self, dir: str, shard: str, generation: int) -> bool:
        """Whether the base's mark covers the generation: Lance refuses a mark that is not greater."""
        from lance.mem_wal import CompactedSsTable

        dataset = lance.dataset(dir)
        key = [f.name() for f in dataset.lance_schema.unenforced_primary_key()]
        merge = dataset.merge_insert(key).when_matched_update_all()
        merge = merge.mark_sstables_as_compacted([CompactedSsTable(shard, generation)])
        try:
            merge.execute(dataset.schema.empty_table())
        except OSError as e:
            return "Stale SSTable compaction" in str(e)
        return False


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = Server()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(server, request["op"])(**request["args"])}
        except Exception as e:
            answer = {"error": f"{type(e).__name__}: {e}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
