"""One SSTable: a Lance dataset of a shard's flushed rows, tombstones among them."""

from collections.abc import Iterator
from dataclasses import dataclass

import lance
import pyarrow as pa

from .failure import Failure, Stage, code_of
from .table import Base
from .wire import Generation, Job

TOMBSTONE = "_tombstone"
_BATCH_BYTES = 8 << 20
_BATCH_ROWS = 8192
_READ_AHEAD_BYTES = 32 << 20


@dataclass
class SSTable:
    """An open SSTable with the keys of its rows; the rows too if the pass is small.

    Rows come in the order in which they were written: of two rows with one key the later one counts.
    Every scan yields the same rows in the same order, so a row is known by its position.
    """

    shard: str
    generation: int
    dataset: lance.LanceDataset
    names: dict[int, str]
    keys: pa.Table
    tombstones: pa.ChunkedArray
    rows: pa.Table | None

    def batches(self, base: Base) -> Iterator[pa.RecordBatch]:
        """All rows, in order, in the columns of the base: a column that is not here is null."""
        wanted = [self.names[c.id] for c in base.columns if c.id in self.names]
        try:
            kept = self.rows is not None
            for batch in self.rows.to_batches() if kept else _scan(self.dataset, wanted).to_batches():
                yield _conform(batch, self, base)
        except Exception as e:
            raise _named(e, self.shard, self.generation) from e


def open_sstable(
    job: Job, shard: str, g: Generation, base: Base, session: lance.Session, keep: bool
) -> SSTable:
    """Opens an SSTable and reads its keys; with keep also its rows, once and for all."""
    try:
        dataset = lance.dataset(
            f"{job.uri}/_mem_wal/{shard}/{g.path}",
            storage_options=job.storage_options or None,
            session=session,
        )
        names = {f.id(): f.name() for f in dataset.lance_schema.fields() if f.name() != TOMBSTONE}
        marked = TOMBSTONE in dataset.schema.names
        missing = [c.field.name for c in base.key if c.id not in names]
        if missing:
            raise Failure("E_SSTABLE_CORRUPT", f"key column {missing[0]!r} is not in it")
        key = [names[c.id] for c in base.key]
        columns = list(names.values()) if keep else key
        read = _scan(dataset, columns + [TOMBSTONE] * marked).to_table()
        keys = read.select(key).rename_columns(base.key_names)
        for column in keys.columns:
            if column.null_count:
                raise Failure("E_SSTABLE_CORRUPT", "a row has no key (null)")
        flags = read.column(TOMBSTONE) if marked else pa.chunked_array([pa.repeat(False, read.num_rows)])
        return SSTable(shard, g.generation, dataset, names, keys, flags, read if keep else None)
    except Exception as e:
        raise _named(e, shard, g.generation) from e


def _scan(dataset: lance.LanceDataset, columns: list[str]) -> lance.LanceScanner:
    return dataset.scanner(
        columns=columns,
        batch_size=_BATCH_ROWS,
        batch_size_bytes=_BATCH_BYTES,
        io_buffer_size=_READ_AHEAD_BYTES,
        blob_handling="all_binary",
        scan_in_order=True,
    )


def _conform(batch: pa.RecordBatch, sstable: SSTable, base: Base) -> pa.RecordBatch:
    arrays = []
    for c in base.columns:
        name = sstable.names.get(c.id)
        if name is None:
            array = pa.nulls(batch.num_rows, pa.large_binary() if c.blob else c.field.type)
        else:
            array = batch.column(name)
        if c.blob:
            # A blob reads back as plain bytes and must be made a blob again.
            array = lance.blob_array(array.to_pylist())
        elif not array.type.equals(c.field.type):
            raise Failure(
                "E_TABLE_FORMAT", f"column {c.field.name!r} is {array.type}, in the base {c.field.type}"
            )
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=base.schema)


def _named(e: BaseException, shard: str, generation: int) -> Failure:
    """The failure with the SSTable's name on it."""
    stage: Stage = "sstable"
    code, text = (e.code, e.message) if isinstance(e, Failure) else (code_of(e, stage), str(e))
    if not code.startswith(("E_SSTABLE_", "E_TABLE_")):
        return Failure(code, f"read generation {generation} of shard {shard}: {text}")
    message = f"generation {generation} of shard {shard}: {text}"
    return Failure(code, message, shard=shard, generation=generation)
