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

    def bulk_put(self, dir: str, shard: str, rows: int, width: int) -> None:
        """One generation of that many rows, with a text of that many bytes in each."""
        schema = lance.dataset(dir).schema
        with lance.dataset(dir).mem_wal_writer(shard) as writer:
            writer.put(pa.table([list(range(rows)), [f"{i:0{width}d}" for i in range(rows)]], schema=schema))

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

    def write(self, dir: str, rows: list[dict]) -> None:
        """Somebody else's merge: upserts the rows."""
        dataset = lance.dataset(dir)
        merge = dataset.merge_insert(None).when_matched_update_all().when_not_matched_insert_all()
        merge.execute(_table(dataset.schema, rows))

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
