"""What the writers wrote: the view that a table must show, kept beside it by those who wrote it."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa


class Record:
    """The newest row of each key, in an Arrow IPC file; None as a path keeps no record."""

    def __init__(self, path: str | None, schema: pa.Schema, key: list[str]) -> None:
        self.path = Path(path) if path else None
        self.schema = schema.remove_metadata()
        self.key = key
        self.generation = 0
        self.rows: dict[tuple, dict] = {}
        if self.path and self.path.exists():
            table = read_table(self.path)
            self.generation = int((table.schema.metadata or {}).get(b"generation", b"0"))
            self.upsert(table)

    def upsert(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            self.rows[tuple(row[name] for name in self.key)] = row

    def delete(self, keys: Iterable[tuple]) -> None:
        for key in keys:
            self.rows.pop(key, None)

    def save(self, generation: int) -> None:
        """Saves the rows, and how many generations have been written."""
        self.generation = generation
        if self.path is None:
            return
        rows = [self.rows[key] for key in sorted(self.rows)]
        schema = self.schema.with_metadata({"generation": str(generation)})
        write_table(pa.Table.from_pylist(rows, schema=schema), self.path)


def read_table(path: str | Path) -> pa.Table:
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all()


def write_table(table: pa.Table, path: str | Path) -> None:
    """Writes the whole file or, when killed on the way, leaves the one before."""
    partial = Path(f"{path}.partial")
    with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    partial.replace(path)
