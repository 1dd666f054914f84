"""Just enough of the protobuf wire form to look into a manifest: pylance shows neither the state of a
shard nor the marks of a base, both of which a reader of the view needs."""

from collections import defaultdict


def fields(message: bytes) -> dict[int, list]:
    """The fields of a message by number: integers for varints, bytes for everything else."""
    found: dict[int, list] = defaultdict(list)
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, form = tag >> 3, tag & 7
        if form == 0:
            value, at = _varint(message, at)
        else:
            if form == 2:
                size, at = _varint(message, at)
            elif form in (1, 5):
                size = 8 if form == 1 else 4
            else:
                raise ValueError(f"wire form {form} of field {number}")
            value = message[at : at + size]
            at += size
        found[number].append(value)
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
