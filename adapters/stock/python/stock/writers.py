"""The two stock writers of MemWAL generations: LanceDB's LSM writes and pylance's ShardWriter.

Each call writes one generation and seals it: closing the writer is what turns a memtable into an SSTable
(`flush_lsm` is not supported on local and S3 tables). The record is written after the seal, so that it
never promises a row that a reader can't find.
"""

import random
import uuid

import lance
import lancedb
import pyarrow as pa
from lancedb import LsmWriteSpec

from stock.location import Location
from stock.record import Record
from stock.rows import generated, key_of, key_values, rows_of, schema_of


def create_lancedb(table: dict, rows: dict, record: str | None = None, buckets: int = 0) -> dict:
    """Makes a table by LanceDB, with some rows in its base, and installs an LSM write spec: one shard, or
    as many buckets of the key."""
    location, key = Location.of(table), key_of(table)
    schema = schema_of(table, marked=False)
    initial = rows_of(rows, schema, key)
    opened = location.database().create_table(location.name(), initial)
    opened.set_unenforced_primary_key(key)
    opened.set_lsm_write_spec(LsmWriteSpec.bucket(key[0], buckets) if buckets else LsmWriteSpec.unsharded())
    return _recorded(Record(record, schema, key), initial)


def write_lancedb(table: dict, rows: dict, record: str | None = None) -> dict:
    """Inserts and updates rows by LanceDB's merge_insert: one generation."""
    location, schema, key = Location.of(table), schema_of(table, marked=False), key_of(table)
    kept = Record(record, schema, key)
    asked = rows_of(rows, schema, key)
    _merge_insert(location.open(), asked, key)
    kept.upsert(asked)
    kept.save(kept.generation + 1)
    return {"generations": 1, "written": asked.num_rows, "rows": len(kept.rows)}


def lancedb_generations(table: dict, generations: int, rows: int, record: str) -> dict:
    """Writes generations of which half the rows update keys that the record holds and half are new."""
    location, schema, key = Location.of(table), schema_of(table, marked=False), key_of(table)
    kept = Record(record, schema, key)
    opened = location.open()
    for _ in range(generations):
        number = kept.generation + 1
        chosen = _Choice(kept, schema, key, number)
        keys = chosen.existing(rows // 2) + chosen.new(rows - rows // 2)
        written = generated(keys, number, schema, key)
        _merge_insert(opened, written, key)
        kept.upsert(written)
        kept.save(number)
    return {"generations": generations, "written": generations * rows, "rows": len(kept.rows)}


def create_shard(table: dict, rows: dict, record: str | None = None, **options: object) -> dict:
    """Makes a table by pylance, with some rows in its base, whose shards are chosen by hand. The options
    are those of lance.write_dataset, data_storage_version for instance."""
    location, schema, key = Location.of(table), schema_of(table), key_of(table)
    initial = rows_of(rows, schema, key)
    dataset = lance.write_dataset(
        initial, location.uri, storage_options=location.storage_options or None, **options
    )
    dataset.initialize_mem_wal()
    return _recorded(Record(record, schema, key), initial)


def write_shard(
    table: dict,
    rows: dict | None = None,
    deletes: list | None = None,
    shard: str | None = None,
    record: str | None = None,
) -> dict:
    """Puts rows and then deletes keys (values, or lists of them for a composite key): one generation."""
    location, schema, key = Location.of(table), schema_of(table), key_of(table)
    kept = Record(record, schema, key)
    put = rows_of(rows, schema, key) if rows else None
    gone = [tuple(k) if isinstance(k, list) else (k,) for k in deletes or []]
    shard = shard or str(uuid.uuid4())
    _put(location, shard, put, gone, schema, key)
    if put is not None:
        kept.upsert(put)
    kept.delete(gone)
    kept.save(kept.generation + 1)
    written = (put.num_rows if put is not None else 0) + len(gone)
    return {"generations": 1, "written": written, "rows": len(kept.rows), "shard": shard}


def shard_generations(
    table: dict, generations: int, rows: int, record: str, shard: str | None = None
) -> dict:
    """Writes generations of new keys, updates, deletes, and keys that come back after their delete: a
    quarter of the rows each."""
    location, schema, key = Location.of(table), schema_of(table), key_of(table)
    kept = Record(record, schema, key)
    shard = shard or str(uuid.uuid4())
    for _ in range(generations):
        number = kept.generation + 1
        chosen = _Choice(kept, schema, key, number)
        picked = chosen.existing(rows // 2)
        updated, deleted = picked[: rows // 4], picked[rows // 4 :]
        back = chosen.deleted(rows // 4)
        keys = updated + back + chosen.new(rows - len(picked) - len(back))
        put = generated(keys, number, schema, key)
        gone = [key_values(n, schema, key) for n in deleted]
        _put(location, shard, put, gone, schema, key)
        kept.upsert(put)
        kept.delete(gone)
        kept.save(number)
    return {
        "generations": generations,
        "written": generations * rows,
        "rows": len(kept.rows),
        "shard": shard,
    }


class _Choice:
    """Keys for one generation, the same for the same record."""

    def __init__(self, kept: Record, schema: pa.Schema, key: list[str], number: int) -> None:
        self.random = random.Random(number)
        part = schema.get_field_index(key[0])
        text = pa.types.is_string(schema.field(part).type)
        # A generated key names its number.
        self.present = sorted(int(str(k[0]).rpartition("-")[2]) if text else int(k[0]) for k in kept.rows)
        self.next = max(self.present, default=-1) + 1

    def existing(self, count: int) -> list[int]:
        return self.random.sample(self.present, min(count, len(self.present)))

    def deleted(self, count: int) -> list[int]:
        gone = sorted(set(range(self.next)) - set(self.present))
        return self.random.sample(gone, min(count, len(gone)))

    def new(self, count: int) -> list[int]:
        return list(range(self.next, self.next + count))


def _recorded(kept: Record, initial: pa.Table) -> dict:
    kept.rows.clear()
    kept.upsert(initial)
    kept.save(0)
    return {"rows": len(kept.rows)}


def _merge_insert(opened: lancedb.table.Table, rows: pa.Table, key: list[str]) -> None:
    opened.merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(rows)
    opened.close_lsm_writers()


def _put(
    location: Location,
    shard: str,
    put: pa.Table | None,
    gone: list[tuple],
    schema: pa.Schema,
    key: list[str],
) -> None:
    with location.dataset().mem_wal_writer(shard) as writer:
        if put is not None and put.num_rows:
            writer.put(put)
        if gone:
            fields = [schema.field(name) for name in key]
            columns = [
                pa.array(part, field.type)
                for part, field in zip(zip(*gone, strict=True), fields, strict=True)
            ]
            writer.delete(pa.Table.from_arrays(columns, schema=pa.schema(fields)))
