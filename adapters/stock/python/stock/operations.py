"""The operations by name: what a request may ask for."""

import platform
from collections.abc import Callable
from pathlib import Path

import lance
import lancedb
import pyarrow as pa

from stock import bench, foreign, writers
from stock.compare import compare
from stock.location import Location
from stock.record import read_table, write_table
from stock.rows import key_of
from stock.view import base, lancedb_view, view

READERS = {"view": view, "base": base, "lancedb": lancedb_view}


def versions() -> dict:
    return {
        "python": platform.python_version(),
        "pylance": lance.__version__,
        "lancedb": lancedb.__version__,
        "pyarrow": pa.__version__,
    }


def read_view(table: dict, out: str | None = None) -> dict:
    return _kept(*view(Location.of(table), key_of(table)), out)


def read_lancedb_view(table: dict, out: str | None = None) -> dict:
    return _kept(*lancedb_view(Location.of(table), key_of(table)), out)


def read_base(table: dict, out: str | None = None, version: int | None = None) -> dict:
    return _kept(*base(Location.of(table), key_of(table), version or None), out)


def read_rows(table: dict, source: str = "base", where: list | None = None) -> dict:
    """The rows themselves, as JSON; where: only those with this key."""
    rows, version = READERS[source](Location.of(table), key_of(table))
    found = rows.to_pylist()
    if where is not None:
        found = [row for row in found if [row[name] for name in key_of(table)] == where]
    return {"version": version, "values": found}


def compare_sources(left: dict, right: dict, key: list[str] | None = None) -> dict:
    return compare(_source(left), _source(right), key or ["id"])


def _source(source: dict) -> pa.Table:
    """A file of rows (a record, or what view and base wrote), or the view or base of a table right now."""
    if source.get("file"):
        return read_table(Path(source["file"]))
    return READERS[source["read"]](Location.of(source["table"]), key_of(source["table"]))[0]


def _kept(rows: pa.Table, version: int, out: str | None) -> dict:
    if out:
        write_table(rows, out)
    return {"rows": rows.num_rows, "version": version}


OPERATIONS: dict[str, Callable[..., dict]] = {
    "versions": versions,
    "create-lancedb": writers.create_lancedb,
    "write-lancedb": writers.write_lancedb,
    "lancedb-generations": writers.lancedb_generations,
    "create-shard": writers.create_shard,
    "write-shard": writers.write_shard,
    "shard-generations": writers.shard_generations,
    "state": foreign.state,
    "view": read_view,
    "lancedb-view": read_lancedb_view,
    "base": read_base,
    "rows": read_rows,
    "compare": compare_sources,
    "append": foreign.append,
    "overwrite": foreign.overwrite,
    "update": foreign.update,
    "delete": foreign.delete,
    "upsert": foreign.upsert,
    "merge-script": foreign.merge_script,
    "restore": foreign.restore,
    "compact": foreign.compact,
    "drop": foreign.drop,
    "index": foreign.index,
    "tag": foreign.tag,
    "metadata": foreign.metadata,
    "open-shard": foreign.open_shard,
    "bench-setup": bench.setup,
    "bench-loop": bench.loop,
}


def answer(request: dict) -> dict:
    """Runs one request. What a client raises is an answer too, with the type and the words it had."""
    try:
        result = OPERATIONS[request["op"]](**request.get("args", {}))
    except BaseException as error:  # a panic of the native library derives from BaseException
        return {"id": request["id"], "error": {"type": type(error).__name__, "message": str(error)}}
    return {"id": request["id"], "result": result}
