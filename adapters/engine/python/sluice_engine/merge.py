"""One pass: read the SSTables, keep the newest rows, commit them with their marks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import lance
import pyarrow as pa
from lance.dataset import MergeInsertBuilder
from lance.mem_wal import CompactedSsTable

from .failure import CONFLICT, Failure, code_of
from .literal import keys_in
from .newest import Newest, newest
from .sstable import SSTable, open_sstable
from .table import Base, open_base
from .wire import Done, Go, Job, Plan, Progress, Worker

MAX_LOSSES = 5
"""So many commits may be lost to others before the pass gives up."""

MAX_LITERALS = 100_000
"""So many tombstones may be listed in one condition."""

KEEP_BYTES = 128 << 20
"""A pass up to this size is read once and kept; a larger one is read twice and streamed.

Kept rows are the better way while they fit: Lance then collects them for its join, instead of every key of
the base. (2,000 rows into 5 million: 0.3 s and 184 MB kept, 1.1 s and 462 MB streamed.)
"""

ONE_COMMIT = "tombstones-one-commit"


class Lost(Exception):
    """Somebody else's commit came first; nothing of the pass counts yet."""


class Tally:
    """Counts completed work over the whole pass. Work done again after a lost commit is not counted."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._rows = self._batches = self._bytes = 0
        self._streamed = 0

    def add(self, phase: str, rows: int, size: int) -> None:
        self._rows += rows
        self._batches += 1
        self._bytes += size
        self._worker.send(Progress(phase, self._rows, self._batches, self._bytes))

    def streamed(self, nth: int, rows: int, size: int) -> None:
        if nth > self._streamed:
            self._streamed = nth
            self.add("merge", rows, size)


@dataclass
class Pass:
    """What one execution merges. The SSTables never change, so it is planned once."""

    job: Job
    worker: Worker
    session: lance.Session
    tally: Tally
    sstables: list[SSTable]
    newest: Newest
    small: bool

    def marks(self) -> list[CompactedSsTable]:
        return [CompactedSsTable(s.shard, s.generations[-1].generation) for s in self.job.shards]

    def source(self, base: Base) -> "Source":
        return Source(self, base)


class Source:
    """The rows to upsert, as a stream that remembers why it broke.

    An error that crosses into Lance comes back as text; the failure behind it is kept here.
    """

    def __init__(self, whole: Pass, base: Base) -> None:
        self._pass = whole
        self._base = base
        self.failure: Failure | None = None

    def data(self) -> pa.Table | pa.RecordBatchReader:
        # A table lets Lance collect the source instead of all keys of the base.
        if self._pass.small:
            return pa.Table.from_batches(self._batches(), schema=self._base.schema)
        return pa.RecordBatchReader.from_batches(self._base.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        nth = 0
        try:
            for sstable, keep in zip(self._pass.sstables, self._pass.newest.upserts, strict=True):
                if not keep.any():
                    continue
                at = 0
                for batch in sstable.batches(self._base):
                    part = keep[at : at + batch.num_rows]
                    at += batch.num_rows
                    kept = batch.filter(pa.array(part))
                    nth += 1
                    yield kept
                    self._pass.tally.streamed(nth, kept.num_rows, kept.nbytes)
        except Failure as e:
            self.failure = e
            raise


def run(job: Job, worker: Worker, session: lance.Session) -> Done:
    """Merges what the job names and nothing else. Raises Failure."""
    base = open_base(job, session)
    tally = Tally(worker)
    generations = [g for s in job.shards for g in s.generations]
    small = all(g.bytes >= 0 for g in generations) and sum(g.bytes for g in generations) <= KEEP_BYTES
    sstables = _open_all(job, base, session, small, tally)
    rows = newest(sstables, base.key_names, job.without)
    whole = Pass(job, worker, session, tally, sstables, rows, small)
    for _ in range(MAX_LOSSES):
        # Each try says which version it is made on: what Lance writes into a commit after a rebase does not.
        plan = _plan(whole, base)
        worker.send(plan)
        worker.expect(Go)
        try:
            return _attempt(whole, plan, base)
        except Lost:
            base = open_base(job, session)
    raise Failure("E_BASE_CONTENDED", f"lost {MAX_LOSSES} commits in a row to other writers of the base")


def _open_all(job: Job, base: Base, session: lance.Session, keep: bool, tally: Tally) -> list[SSTable]:
    wanted = [(s.shard, g) for s in job.shards for g in s.generations]
    with ThreadPoolExecutor(job.read_threads) as pool:
        opening = [pool.submit(open_sstable, job, shard, g, base, session, keep) for shard, g in wanted]
        try:
            sstables = []
            for future in opening:
                sstables.append(future.result())
                read = sstables[-1].keys if sstables[-1].rows is None else sstables[-1].rows
                tally.add("read", read.num_rows, read.nbytes)
            return sstables
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _condition(whole: Pass, base: Base) -> str | None:
    """The tombstoned keys as one condition; None where that can't be."""
    dead = whole.newest.tombstones
    if len(base.key) > 1 or dead.num_rows > MAX_LITERALS or ONE_COMMIT in whole.job.without:
        return None
    return keys_in(base.key_names[0], dead.column(0))


def _plan(whole: Pass, base: Base) -> Plan:
    dead, rows = whole.newest.tombstones.num_rows, whole.newest.rows
    two = dead > 0 and rows > 0 and _condition(whole, base) is None
    return Plan(rows, dead, 2 if two else 1, dead == 0, base.dataset.version)


def _attempt(whole: Pass, plan: Plan, base: Base) -> Done:
    """Commits the pass on top of the base as read, or raises Lost.

    NB: with tombstones the commit that carries the marks must land right after the version it read: a key
    that somebody inserted in between would be lost, and Lance sees no conflict there. It would rebase; the
    worker's gate refuses that. A refusal on a base that has moved is therefore a lost race.
    """
    dataset, dead = base.dataset, whole.newest.tombstones
    if plan.tombstones == 0:
        stats = _commit(whole, base, _upsert(base), rebasable=True)
    elif plan.rows == 0:
        stats = _commit(whole, base, _delete(base), rebasable=False, data=dead)
    elif plan.commits == 1:
        merge = _upsert(base).when_not_matched_by_source_delete(_condition(whole, base))
        stats = _commit(whole, base, merge, rebasable=False)
    else:
        stats = _commit(whole, base, _upsert(base), rebasable=True, marked=False)
        # The dataset now stands at the version that the upsert made; the delete must be its successor.
        stats |= {"num_deleted_rows": 0}
        gone = _commit(whole, base, _delete(base), rebasable=False, data=dead)
        stats["num_deleted_rows"] = gone["num_deleted_rows"]
    upserted = stats["num_inserted_rows"] + stats["num_updated_rows"]
    return Done(upserted, stats["num_deleted_rows"], dataset.version)


def _upsert(base: Base) -> MergeInsertBuilder:
    merge = base.dataset.merge_insert(base.key_names)
    return merge.when_matched_update_all().when_not_matched_insert_all()


def _delete(base: Base) -> MergeInsertBuilder:
    return base.dataset.merge_insert(base.key_names).when_matched_delete()


def _commit(
    whole: Pass,
    base: Base,
    merge: MergeInsertBuilder,
    *,
    rebasable: bool,
    marked: bool = True,
    data: pa.Table | None = None,
) -> dict[str, int]:
    read = base.dataset.version
    # Lance's own retries would keep the rows in memory or on disk, and would not look at the base again.
    merge = merge.conflict_retries(0)
    if marked:
        merge = merge.mark_sstables_as_compacted(whole.marks())
    source = whole.source(base)
    try:
        stats = merge.execute(source.data() if data is None else data)
    except Exception as e:
        if source.failure is not None:
            raise source.failure from e
        code = code_of(e, "commit")
        moved = not rebasable and open_base(whole.job, whole.session).dataset.version != read
        if code == CONFLICT or (code == "E_ENGINE_UNKNOWN" and moved):
            raise Lost from e
        raise Failure(code, f"commit on top of version {read}: {e}") from e
    whole.tally.add("commit", 0, 0)
    return stats
