"""Everybody else: programs that write to a table's base by plain pylance, knowing nothing of Sluice."""

import uuid

import lance
import pyarrow as pa
import pyarrow.compute as pc
from lance.mem_wal import CompactedSsTable

from stock.location import Location
from stock.rows import key_of, rows_of, schema_of
from stock.state import Shard, State, state_of


def append(table: dict, rows: dict) -> dict:
    location, asked = _asked(table, rows)
    dataset = location.dataset()
    dataset.insert(asked)
    return {"version": dataset.version}


def overwrite(table: dict, rows: dict) -> dict:
    """Replaces the table's rows; this drops its MemWAL index, marks and all."""
    location, asked = _asked(table, rows)
    dataset = lance.write_dataset(
        asked, location.uri, mode="overwrite", storage_options=location.storage_options or None
    )
    return {"version": dataset.version}


def update(table: dict, values: dict[str, str], where: str | None = None) -> dict:
    """Sets columns to SQL expressions."""
    dataset = Location.of(table).dataset()
    changed = dataset.update(values, where=where)
    return {"version": dataset.version, "rows": changed["num_rows_updated"]}


def delete(table: dict, where: str) -> dict:
    dataset = Location.of(table).dataset()
    dataset.delete(where)
    return {"version": dataset.version}


def upsert(table: dict, rows: dict, marks: dict[str, int] | None = None, retries: int | None = None) -> dict:
    """Somebody's merge_insert into the base; with marks it claims that it took those generations in."""
    location, asked = _asked(table, rows)
    version = merge(location.dataset(), asked, key_of(table), marks or {}, retries)
    return {"version": version}


def merge_script(table: dict, shard: str | None = None, generations: int = 0, read: int = 0) -> dict:
    """Somebody's own merge loop: one commit with its mark for each pending generation of a shard, oldest
    first; generations 0 means all. read: the base version that it read, the newest when 0."""
    location, key = Location.of(table), key_of(table)
    state, base = state_of(location)
    if read:
        base = location.dataset(read)
    versions = []
    for one in state.shards:
        if shard in (None, one.id):
            pending = state.pending(one)[: generations or None]
            versions += [version for _, version in commit_each(location, base, one, pending, key)]
    return {"version": max(versions, default=state.version), "commits": len(versions)}


def commit_each(location: Location, base: lance.LanceDataset, shard: Shard, pending: list, key: list[str]):  # noqa: ANN201
    """Commits each SSTable with its mark, one after the other, and yields generation and version.
    Tombstones become a delete before the upsert, in a commit of its own: what such scripts do."""
    for sstable in pending:
        rows = sstable_rows(location, shard, sstable.path)
        if "_tombstone" in rows.column_names:
            gone = rows.filter(rows["_tombstone"]).select(key)
            rows = rows.filter(pc.invert(rows["_tombstone"])).drop_columns("_tombstone")
            if gone.num_rows:
                base.merge_insert(key).when_matched_delete().execute(gone)
        yield sstable.generation, merge(base, rows, key, {shard.id: sstable.generation}, None)


def merge(
    base: lance.LanceDataset, rows: pa.Table, key: list[str], marks: dict[str, int], retries: int | None
) -> int:
    builder = base.merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
    if marks:
        builder.mark_sstables_as_compacted([CompactedSsTable(s, g) for s, g in marks.items()])
    if retries is not None:
        builder.conflict_retries(retries)
    builder.execute(rows)
    return base.version


def sstable_rows(location: Location, shard: Shard, path: str) -> pa.Table:
    uri = f"{location.uri}/_mem_wal/{shard.id}/{path}"
    return lance.dataset(uri, storage_options=location.storage_options or None).to_table()


def restore(table: dict, version: int) -> dict:
    """Makes an older version the newest again, old marks and all."""
    dataset = Location.of(table).dataset(version)
    dataset.restore()
    return {"version": Location.of(table).dataset().version}


def compact(table: dict) -> dict:
    """Rewrites the small data files of the base; has nothing to do with SSTables."""
    dataset = Location.of(table).dataset()
    metrics = dataset.optimize.compact_files()
    return {"version": dataset.version, "fragments_removed": metrics.fragments_removed}


def drop(table: dict) -> dict:
    """Drops the table, with every file below it."""
    location = Location.of(table)
    location.database().drop_table(location.name())
    return {}


def index(table: dict, column: str, kind: str = "BTREE") -> dict:
    dataset = Location.of(table).dataset()
    dataset.create_scalar_index(column, kind)
    return {"version": dataset.version}


def tag(table: dict, name: str, version: int) -> dict:
    Location.of(table).dataset().tags.create(name, version)
    return {}


def metadata(table: dict, values: dict[str, str], replace: bool = False) -> dict:
    """Writes the table's own metadata; replace drops what is there, Sluice's table id too."""
    dataset = Location.of(table).dataset()
    dataset.update_metadata(values, replace=replace)
    return {"version": dataset.version, "metadata": dict(dataset.metadata)}


def open_shard(table: dict, shard: str | None = None) -> dict:
    """Claims a shard as a new writer does, and leaves it: the writer epoch goes up."""
    shard = shard or str(uuid.uuid4())
    Location.of(table).dataset().mem_wal_writer(shard).close()
    return {"shard": shard}


def state(table: dict) -> dict:
    found: State = state_of(Location.of(table))[0]
    return found.to_json()


def _asked(table: dict, rows: dict) -> tuple[Location, pa.Table]:
    return Location.of(table), rows_of(rows, schema_of(table), key_of(table))
