"""Where a table is, and how each stock client opens it."""

from dataclasses import dataclass, field

import lance
import lancedb
from lance.file import LanceFileSession


@dataclass(frozen=True)
class Location:
    """A table by the URI of its directory, `<lake>/db/events.lance`, and the options to reach it."""

    uri: str
    storage_options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: dict) -> "Location":
        return cls(table["uri"].rstrip("/"), table.get("storage_options") or {})

    def dataset(self, version: int | None = None) -> lance.LanceDataset:
        return lance.dataset(self.uri, version=version, storage_options=self.storage_options or None)

    def files(self) -> LanceFileSession:
        """The files below the table's directory."""
        return LanceFileSession(self.uri, storage_options=self.storage_options or None)

    def database(self) -> lancedb.DBConnection:
        directory = self.uri.rpartition("/")[0]
        return lancedb.connect(directory, storage_options=self.storage_options or None)

    def name(self) -> str:
        """The table's name in its database."""
        return self.uri.rpartition("/")[2].removesuffix(".lance")

    def open(self) -> lancedb.table.Table:
        return self.database().open_table(self.name())
