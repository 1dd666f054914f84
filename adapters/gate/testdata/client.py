"""A Lance client for the gate's tests: one JSON request a line, one JSON answer a line."""

import json
import sys
import uuid
from typing import Any

import lance
import pyarrow as pa
from lance.mem_wal import CompactedSsTable

SCHEMA = pa.schema(
    [
        pa.field(
            "id", pa.int64(), nullable=False, metadata={b"lance-schema:unenforced-primary-key": b"true"}
        ),
        pa.field("v", pa.string()),
    ]
)


def rows(ids: list[int], tag: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [f"{tag}{i}" for i in ids]}, schema=SCHEMA)


def create(
    uri: str, opts: dict[str, str], ids: list[int], tag: str = "base", v2: bool = True
) -> dict[str, Any]:
    ds = lance.write_dataset(rows(ids, tag), uri, storage_options=opts, enable_v2_manifest_paths=v2)
    ds.initialize_mem_wal()
    return {"version": lance.dataset(uri, storage_options=opts).version}


def adopt(uri: str, opts: dict[str, str], table_id: str) -> dict[str, Any]:
    lance.dataset(uri, storage_options=opts).update_metadata({"sluice.table_id": table_id})
    return {"version": lance.dataset(uri, storage_options=opts).version}


def append(uri: str, opts: dict[str, str], ids: list[int], tag: str = "more") -> dict[str, Any]:
    ds = lance.write_dataset(rows(ids, tag), uri, mode="append", storage_options=opts)
    return {"version": ds.version}


def large(uri: str, opts: dict[str, str], size: int) -> dict[str, Any]:
    table = pa.table({"id": pa.array(range(size), pa.int64()), "v": ["x" * 1000] * size}, schema=SCHEMA)
    return {"version": lance.write_dataset(table, uri, mode="append", storage_options=opts).version}


def merge(
    uri: str,
    opts: dict[str, str],
    ids: list[int],
    tag: str = "merged",
    shard: str = "",
    generation: int = 0,
    retries: int = 10,
) -> dict[str, Any]:
    builder = (
        lance.dataset(uri, storage_options=opts)
        .merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .conflict_retries(retries)
    )
    if shard:
        builder = builder.mark_sstables_as_compacted([CompactedSsTable(shard, generation)])
    builder.execute(rows(ids, tag))
    return {"version": lance.dataset(uri, storage_options=opts).version}


def ingest(uri: str, opts: dict[str, str], shard: str, ids: list[int], tag: str = "wal") -> dict[str, Any]:
    ds = lance.dataset(uri, storage_options=opts)
    with ds.mem_wal_writer(shard) as w:
        w.put(rows(ids, tag))
    return {"shard": shard}


def read(uri: str, opts: dict[str, str]) -> dict[str, Any]:
    ds = lance.dataset(uri, storage_options=opts)
    table = ds.to_table()
    got = dict(zip(table["id"].to_pylist(), table["v"].to_pylist(), strict=True))
    return {"version": ds.version, "count": table.num_rows, "rows": {str(k): v for k, v in got.items()}}


def drop(uri: str, opts: dict[str, str]) -> dict[str, Any]:
    lance.LanceDataset.drop(uri, storage_options=opts)
    return {}


def new_shard() -> dict[str, Any]:
    return {"shard": str(uuid.uuid4())}


OPS = {f.__name__: f for f in (create, adopt, append, large, merge, ingest, read, drop, new_shard)}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = OPS[request.pop("op")](**request)
        except Exception as e:
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
