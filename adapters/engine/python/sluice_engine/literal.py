"""Keys as SQL literals, for the types where that is safe."""

from collections.abc import Iterable

import pyarrow as pa

_INT64_MIN = -(2**63)


def keys_in(name: str, keys: pa.ChunkedArray) -> str | None:
    """The condition that a key is one of these; None if it can't be said safely."""
    if "`" in name or '"' in name:
        return None
    kind = keys.type
    values: Iterable[str]
    if pa.types.is_integer(kind):
        numbers = keys.to_pylist()
        if _INT64_MIN in numbers:
            return None  # its literal is parsed as the negative of a number that is too large
        values = map(str, numbers)
    elif pa.types.is_boolean(kind):
        values = ("true" if v else "false" for v in keys.to_pylist())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # Nothing but the quote is special in Lance's dialect: a backslash is itself.
        values = ("'" + v.replace("'", "''") + "'" for v in keys.to_pylist())
    else:
        return None
    return f"`{name}` IN ({','.join(values)})"
