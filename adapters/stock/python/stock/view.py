"""What readers see: the LSM view by pylance's own scanner, by LanceDB, and the base table alone."""

import pyarrow as pa
from lance.mem_wal import LsmScanner, ShardSnapshot

from stock.location import Location
from stock.state import state_of


def view(table: Location, key: list[str]) -> tuple[pa.Table, int]:
    """The base and the SSTables above its marks, by pylance's LSM scanner, with the base's version.

    The scanner believes the snapshots that it is given: it would show SSTables at or below the mark again,
    over what has been written to the base since. They are left out here, as LanceDB leaves them out.
    """
    state, base = state_of(table)
    snapshots = []
    for shard in state.shards:
        snapshot = ShardSnapshot(shard.id).with_current_generation(shard.current_generation)
        snapshot = snapshot.with_spec_id(shard.spec_id)
        for sstable in state.pending(shard):
            snapshot = snapshot.with_sstable(sstable.generation, sstable.path)
        snapshots.append(snapshot)
    batches = LsmScanner.from_snapshots(base, snapshots).to_batches()
    return _sorted(pa.Table.from_batches(batches, base.schema), key), base.version


def lancedb_view(table: Location, key: list[str]) -> tuple[pa.Table, int]:
    """The view as LanceDB shows it, active memtables included where it knows them."""
    opened = table.open()
    return _sorted(opened.search().use_lsm(True).limit(2**31 - 1).to_arrow(), key), opened.version


def base(table: Location, key: list[str], version: int | None = None) -> tuple[pa.Table, int]:
    """The base table alone, as every Lance reader without MemWAL sees it."""
    dataset = table.dataset(version)
    return _sorted(dataset.to_table(), key), dataset.version


def _sorted(rows: pa.Table, key: list[str]) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in key])
