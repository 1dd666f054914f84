"""Schemas and rows of the tables that the clients write.

A row can be told from every other version of itself: each value is made of its key and the generation that
wrote it. So a comparison that finds a wrong row also says which write it came from.
"""

import re

import pyarrow as pa

PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}

DEFAULT_COLUMNS = [
    {"name": "id", "type": "int64"},
    {"name": "name", "type": "string"},
    {"name": "score", "type": "float64"},
    {"name": "generation", "type": "int64"},
    {"name": "vector", "type": "float32[8]"},
]


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of `int64`, `string`, … or of a vector such as `float32[8]`."""
    if vector := re.fullmatch(r"(\w+)\[(\d+)]", name):
        return pa.list_(pa.type_for_alias(vector[1]), int(vector[2]))
    return pa.type_for_alias(name)


def schema_of(table: dict, marked: bool = True) -> pa.Schema:
    """The schema that a table was asked for with; marked: the key columns say in their metadata that they
    are the primary key, which is how pylance learns it."""
    key = key_of(table)
    return pa.schema(
        [
            pa.field(
                column["name"],
                arrow_type(column["type"]),
                nullable=column["name"] not in key,
                metadata=PRIMARY_KEY if marked and column["name"] in key else None,
            )
            for column in table.get("columns") or DEFAULT_COLUMNS
        ]
    )


def key_of(table: dict) -> list[str]:
    return table.get("key") or ["id"]


def rows_of(asked: dict, schema: pa.Schema, key: list[str]) -> pa.Table:
    """The rows that a request asks for: its `values`, or generated ones for the keys from `from` to
    before `to`, written by `generation`."""
    if asked.get("values") is not None:
        return pa.Table.from_pylist(asked["values"], schema=schema)
    return generated(range(asked["from"], asked["to"]), asked.get("generation", 0), schema, key)


def generated(keys: range | list[int], generation: int, schema: pa.Schema, key: list[str]) -> pa.Table:
    columns = [
        pa.array([_value(field, n, None if field.name in key else generation) for n in keys], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def key_values(n: int, schema: pa.Schema, key: list[str]) -> tuple:
    """The key of the n-th generated row."""
    return tuple(_value(schema.field(name), n, None) for name in key)


def _value(field: pa.Field, n: int, generation: int | None) -> object:
    kind = field.type
    if generation is None:
        return n if pa.types.is_integer(kind) else f"{field.name}-{n:08d}"
    if field.name == "generation":
        return generation
    if pa.types.is_fixed_size_list(kind):
        return [float((n * 31 + generation * 7 + i) % 1024) / 8 for i in range(kind.list_size)]
    # A null here and there: a merge that fills or loses them must be seen. (LanceDB wants no null vectors.)
    if (n + generation) % 11 == 10:
        return None
    if pa.types.is_floating(kind):
        return n + generation / 1024
    if pa.types.is_integer(kind):
        return (n * 31 + generation) % 127
    return f"{field.name} {n} of generation {generation}"
