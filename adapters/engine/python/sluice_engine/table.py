"""The base table: its key, its columns, and where its SSTables lie."""

from dataclasses import dataclass

import lance
import pyarrow as pa

from .failure import Failure, code_of
from .wire import Job

BLOB = "lance.blob.v2"


@dataclass(frozen=True)
class Column:
    """A column of the base. SSTables know it by its id: a rename changes the name only."""

    id: int
    field: pa.Field

    @property
    def blob(self) -> bool:
        return is_blob(self.field.type)


@dataclass(frozen=True)
class Base:
    """One version of the base table, and what a merge into it needs to know."""

    dataset: lance.LanceDataset
    columns: list[Column]
    key: list[Column]

    @property
    def schema(self) -> pa.Schema:
        return self.dataset.schema

    @property
    def key_names(self) -> list[str]:
        return [c.field.name for c in self.key]


def is_blob(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == BLOB


def _has_inner_blob(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return False
    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return any(is_blob(t) or _has_inner_blob(t) for t in inner)


def open_base(job: Job, session: lance.Session) -> Base:
    """Opens the latest version. Refuses a table that a merge could not keep right."""
    try:
        dataset = lance.dataset(job.uri, storage_options=job.storage_options or None, session=session)
    except Exception as e:
        raise Failure(code_of(e, "base"), f"open base table: {e}") from e
    if dataset.version < job.base_version:
        raise Failure(
            "E_LAKE_WENT_BACK", f"base is at version {dataset.version}, it was at {job.base_version}"
        )
    if dataset.mem_wal_index_details() is None:
        raise Failure("E_NO_MEMWAL", "the table has no MemWAL index")
    by_name = {f.name(): f for f in dataset.lance_schema.fields()}
    columns = [Column(by_name[f.name].id(), f) for f in dataset.schema]
    by_id = {c.id: c for c in columns}
    key_ids = [f.id() for f in dataset.lance_schema.unenforced_primary_key()]
    if not key_ids:
        raise Failure("E_NO_PRIMARY_KEY", "the schema names no unenforced primary key")
    if not by_id.keys() >= set(key_ids):
        raise Failure("E_TABLE_FORMAT", "a column inside a struct is part of the primary key")
    for c in columns:
        if _has_inner_blob(c.field.type):
            raise Failure("E_TABLE_FORMAT", f"column {c.field.name!r} holds blobs inside another type")
    return Base(dataset, columns, [by_id[i] for i in key_ids])
