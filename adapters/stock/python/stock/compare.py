"""Two tables, row by row and value by value."""

import pyarrow as pa

MAX_DIFFERENCES = 5


def compare(left: pa.Table, right: pa.Table, key: list[str]) -> dict:
    """Compares two tables by key; equal only if columns, types, rows and every value are the same."""
    result = {"left_rows": left.num_rows, "right_rows": right.num_rows, "differences": []}
    order = [(name, "ascending") for name in key]
    if differences := _schema_differences(left.schema, right.schema):
        return result | {"equal": False, "differences": differences}
    left = left.sort_by(order).combine_chunks().replace_schema_metadata(None)
    right = right.select(left.column_names).sort_by(order).combine_chunks()
    if left.equals(right):
        return result | {"equal": True}
    differences = _row_differences(left, right, key)
    # Arrow finds NaN unequal to itself; row by row it is the same value again.
    return result | {"equal": not differences, "differences": differences}


def _schema_differences(left: pa.Schema, right: pa.Schema) -> list[str]:
    lefts = {field.name: str(field.type) for field in left}
    rights = {field.name: str(field.type) for field in right}
    names = [name for name in lefts | rights if lefts.get(name) != rights.get(name)]
    return [f"column {name}: {lefts.get(name)} and {rights.get(name)}" for name in names]


def _row_differences(left: pa.Table, right: pa.Table, key: list[str]) -> list[str]:
    lefts, rights = _by_key(left, key), _by_key(right, key)
    found = []
    for at in sorted(lefts.keys() | rights.keys()):
        mine, others = lefts.get(at, []), rights.get(at, [])
        # repr: NaN equals NaN, and 0 is not 0.0.
        if repr(mine) == repr(others):
            continue
        if len(found) == MAX_DIFFERENCES:
            return [*found, "and more"]
        name = ", ".join(str(part) for part in at)
        if len(mine) != 1 or len(others) != 1:
            found.append(f"key {name}: {len(mine)} rows and {len(others)}")
            continue
        values = [
            f"{column} {mine[0][column]!r} and {others[0][column]!r}"
            for column in mine[0]
            if repr(mine[0][column]) != repr(others[0][column])
        ]
        found.append(f"key {name}: {'; '.join(values)}")
    return found


def _by_key(table: pa.Table, key: list[str]) -> dict[tuple, list[dict]]:
    rows: dict[tuple, list[dict]] = {}
    for row in table.to_pylist():
        rows.setdefault(tuple(row[name] for name in key), []).append(row)
    return rows
