"""Lost races of the merge, with the gate's refusals played by a stand-in.

python test_races.py DIRECTORY_OF_THE_PROGRAM
"""

import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

sys.path.insert(0, sys.argv.pop(1))

import lance
import pyarrow as pa
from lance.dataset import MergeInsertBuilder
from sluice_engine import merge
from sluice_engine.failure import Failure
from sluice_engine.wire import Done, Generation, Go, Job, Message, Plan, Shard

SHARD = "aaaaaaaa-0000-4000-8000-000000000001"
KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), False, KEY),
        pa.field("part", pa.int64(), False),
        pa.field("v", pa.string()),
    ]
)
MERGED = dict.fromkeys(range(1, 8), "base") | {9: "base", 8: "new", 10: "new"}
REFUSED = OSError("Generic S3 error: the server returned 403 Forbidden, AccessDenied")


class Silent:
    """A worker that agrees to everything."""

    def __init__(self) -> None:
        self.heard: list[Message] = []

    def send(self, message: Message) -> None:
        self.heard.append(message)

    def expect(self, kind: type[Go]) -> Go:
        return kind()


class Races(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.uri = str(Path(folder.name, "events.lance"))
        self.worker = Silent()

    def table(self, *, composite: bool) -> Job:
        """Ids 0 to 9 in the base; an SSTable that updates 8, inserts 10 and deletes 0."""
        schema = SCHEMA
        if composite:
            schema = schema.set(1, schema.field(1).with_metadata(KEY))
        rows = pa.table([range(10), [0] * 10, ["base"] * 10], schema=schema)
        dataset = lance.write_dataset(rows, self.uri)
        dataset.initialize_mem_wal()
        with dataset.mem_wal_writer(SHARD) as writer:
            writer.put(pa.table([[8, 10], [0, 0], ["new", "new"]], schema=schema))
            keys = [f.name() for f in dataset.lance_schema.unenforced_primary_key()]
            writer.delete(rows.slice(0, 1).select(keys))
        path = next(Path(self.uri, "_mem_wal", SHARD).glob("*_gen_1"))
        shard = Shard(SHARD, 0, [Generation(1, path.name, 1000)])
        return Job(self.uri, {}, 1, [shard], 4, [])

    def foreign(self, id: int, v: str) -> None:
        """Somebody else writes a row."""
        dataset = lance.dataset(self.uri)
        keys = [f.name() for f in dataset.lance_schema.unenforced_primary_key()]
        row = pa.table([[id], [0], [v]], schema=dataset.schema)
        other = dataset.merge_insert(keys).when_matched_update_all().when_not_matched_insert_all()
        EXECUTE(other, row)

    def run_with(self, job: Job, before: Callable[[int], None]) -> Done:
        """Runs the pass; before(n) runs ahead of its n-th commit, and an error of it is the commit's."""
        self.commits = 0

        def execute(builder: MergeInsertBuilder, data: pa.Table) -> dict[str, int]:
            self.commits += 1
            before(self.commits)
            return EXECUTE(builder, data)

        with mock.patch.object(MergeInsertBuilder, "execute", execute):
            return merge.run(job, self.worker, lance.Session())

    def rows(self) -> dict[int, str]:
        table = lance.dataset(self.uri).to_table()
        self.assertEqual(table.num_rows, len(set(table["id"].to_pylist())), "a key is there twice")
        return dict(zip(table["id"].to_pylist(), table["v"].to_pylist(), strict=True))

    def test_a_refusal_on_a_base_that_moved_is_a_lost_race(self) -> None:
        job = self.table(composite=False)

        def before(n: int) -> None:
            if n == 1:
                self.foreign(0, "back")
                raise REFUSED

        done = self.run_with(job, before)
        self.assertEqual(self.commits, 2)
        self.assertEqual(done.version, lance.dataset(self.uri).version)
        self.assertEqual(self.rows(), MERGED)

    def test_a_refusal_on_a_base_that_did_not_move_is_a_failure(self) -> None:
        job = self.table(composite=False)

        def before(_: int) -> None:
            raise REFUSED

        with self.assertRaises(Failure) as caught:
            self.run_with(job, before)
        self.assertEqual((caught.exception.code, self.commits), ("E_ENGINE_UNKNOWN", 1))

    def test_a_commit_between_the_two_of_a_pass_begins_it_again(self) -> None:
        job = self.table(composite=True)

        def before(n: int) -> None:
            if n == 2:
                # Not in the view: the SSTable lies above it. It must not outlive the merge.
                self.foreign(10, "undone")
                raise REFUSED

        self.run_with(job, before)
        self.assertEqual(self.commits, 4)
        plans = [m for m in self.worker.heard if isinstance(m, Plan)]
        self.assertEqual(plans, [Plan(2, 1, 2, False, 2), Plan(2, 1, 2, False, 4)])
        self.assertEqual(self.rows(), MERGED)

    def test_five_losses_are_enough(self) -> None:
        job = self.table(composite=False)

        def before(n: int) -> None:
            self.foreign(100 + n, "other")
            raise OSError("Too many concurrent writers. Attempted 0 retries.")

        with self.assertRaises(Failure) as caught:
            self.run_with(job, before)
        self.assertEqual((caught.exception.code, self.commits), ("E_BASE_CONTENDED", 5))
        self.assertEqual(self.rows()[0], "base")


EXECUTE = MergeInsertBuilder.execute

if __name__ == "__main__":
    unittest.main()
