"""The hand-rolled merge that Sluice is measured against, and the table that both merge."""

import time
import uuid

import lance
import numpy as np
import pyarrow as pa

from stock.foreign import commit_each
from stock.location import Location
from stock.rows import PRIMARY_KEY
from stock.state import state_of

DIMENSION = 64


def setup(table: dict, rows: int = 500_000, generations: int = 64, batch: int = 1_000) -> dict:
    """Makes a table of vectors with pending generations in one shard: half of each updates keys of the
    base, half is new."""
    location = Location.of(table)
    values = np.random.default_rng(1)
    dataset = lance.write_dataset(
        _vectors(np.arange(rows), values), location.uri, storage_options=location.storage_options or None
    )
    dataset.initialize_mem_wal()
    shard = str(uuid.uuid4())
    new = rows
    for _ in range(generations):
        fresh = batch // 2
        keys = np.concatenate(
            [values.choice(rows, batch - fresh, replace=False), np.arange(new, new + fresh)]
        )
        new += fresh
        with location.dataset().mem_wal_writer(shard) as writer:
            writer.put(_vectors(keys, values))
    return {"rows": rows, "generations": generations, "shard": shard}


def loop(table: dict) -> dict:
    """Merges every pending generation in a commit of its own, as a cron job does. The seconds run from the
    opened table to the last commit: neither the imports nor the listing of the shards are in them."""
    location = Location.of(table)
    state, base = state_of(location)
    began = time.perf_counter()
    commits = 0
    for shard in state.shards:
        for _ in commit_each(location, base, shard, state.pending(shard), ["id"]):
            commits += 1
    return {"seconds": time.perf_counter() - began, "commits": commits, "version": base.version}


def _vectors(keys: np.ndarray, values: np.random.Generator) -> pa.Table:
    flat = values.random(len(keys) * DIMENSION, dtype=np.float32)
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata=PRIMARY_KEY),
            pa.field("vector", pa.list_(pa.float32(), DIMENSION)),
        ]
    )
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat), DIMENSION)
    return pa.Table.from_arrays([pa.array(keys, pa.int64()), vectors], schema=schema)
