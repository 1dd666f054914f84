"""Which rows of a pass count: the newest of each key."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .failure import Failure
from .sstable import SSTable

KEY_IN_TWO_SHARDS = "two-shards-one-key"
NEWEST_WINS = "newest-wins"


@dataclass(frozen=True)
class Newest:
    """The rows to upsert, per SSTable and position in it, and the keys to delete."""

    upserts: list[np.ndarray]
    rows: int
    tombstones: pa.Table


def newest(sstables: list[SSTable], key: list[str], without: list[str]) -> Newest:
    """Judges the rows of all SSTables, which must be sorted by generation within each shard.

    Shards know nothing of each other, so there is no newest of two rows of one key in two shards:
    such a pass fails, and nothing has been published.
    """
    lengths = [s.keys.num_rows for s in sstables]
    shards = list(dict.fromkeys(s.shard for s in sstables))
    keys = pa.concat_tables([s.keys for s in sstables])
    numbers = [shards.index(s.shard) for s in sstables]
    columns = [f"key{i}" for i in range(len(key))]
    table = (
        keys.rename_columns(columns)
        .append_column("row", pa.array(np.arange(keys.num_rows)))
        .append_column("shard", pa.array(np.repeat(numbers, lengths), pa.int32()))
    )
    extremes = [("row", "max"), ("row", "min"), ("shard", "max"), ("shard", "min")]
    groups = table.group_by(columns).aggregate(extremes)
    if KEY_IN_TWO_SHARDS not in without:
        _refuse_shared(groups, columns, shards)
    wins = np.zeros(keys.num_rows, dtype=bool)
    wins[groups["row_min" if NEWEST_WINS in without else "row_max"].to_numpy()] = True
    dead = pa.chunked_array([c for s in sstables for c in s.tombstones.chunks], pa.bool_()).to_numpy()
    upserts = wins & ~dead
    return Newest(
        np.split(upserts, np.cumsum(lengths)[:-1]),
        int(upserts.sum()),
        keys.filter(pa.array(wins & dead)),
    )


def _refuse_shared(groups: pa.Table, columns: list[str], shards: list[str]) -> None:
    first, last = groups["shard_min"].to_numpy(), groups["shard_max"].to_numpy()
    shared = np.flatnonzero(first != last)
    if shared.size:
        at = int(shared[0])
        value = ", ".join(repr(groups[c][at].as_py()) for c in columns)[:200]
        one, other = shards[first[at]], shards[last[at]]
        raise Failure(
            "E_KEY_IN_TWO_SHARDS",
            f"key {value} is in shards {one} and {other} ({shared.size} keys are in two shards)",
            shard=one,
            other=other,
        )
