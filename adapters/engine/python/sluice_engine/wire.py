"""The messages between worker and engine. Their twins in Go are in message.go; a test runs both."""

import json
import os
import queue
import sys
import threading
import traceback
from dataclasses import asdict, dataclass, field, fields
from typing import Any, BinaryIO, TypeVar

ORPHANED = 3
"""Exit status of an engine whose worker went away."""


@dataclass(frozen=True)
class Generation:
    generation: int
    path: str
    bytes: int


@dataclass(frozen=True)
class Shard:
    shard: str
    mark: int
    generations: list[Generation]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> "Shard":
        generations = [_strict(Generation, g) for g in raw["generations"]]
        return _strict(cls, raw | {"generations": generations})


@dataclass(frozen=True)
class Job:
    uri: str
    storage_options: dict[str, str] = field(repr=False)
    base_version: int
    shards: list[Shard]
    read_threads: int
    without: list[str]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> "Job":
        return _strict(cls, raw | {"shards": [Shard.of(s) for s in raw["shards"]]})


@dataclass(frozen=True)
class Go:
    pass


@dataclass(frozen=True)
class Ready:
    pylance: str
    pid: int


@dataclass(frozen=True)
class Progress:
    phase: str
    rows: int
    batches: int
    bytes: int


@dataclass(frozen=True)
class Plan:
    rows: int
    tombstones: int
    commits: int
    rebasable: bool
    read_version: int


@dataclass(frozen=True)
class Done:
    rows_upserted: int
    rows_deleted: int
    version: int


@dataclass(frozen=True)
class Failed:
    code: str
    message: str
    shard: str
    generation: int
    other: str


Message = Job | Go | Ready | Progress | Plan | Done | Failed
_KINDS: dict[str, type] = {k.__name__.lower(): k for k in (Job, Go, Ready, Progress, Plan, Done, Failed)}

M = TypeVar("M")


def _strict(kind: type[M], raw: dict[str, Any]) -> M:
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if names != raw.keys():
        raise ValueError(f"{kind.__name__}: fields {sorted(raw.keys() ^ names)} are missing or unknown")
    return kind(**raw)


def encode(message: Message) -> str:
    """One line of JSON, without the line end."""
    return json.dumps(
        {"type": type(message).__name__.lower(), "body": asdict(message)}, separators=(",", ":")
    )


def decode(line: str | bytes) -> Message:
    """The message of a line. Raises ValueError for a kind or a field that is unknown or missing."""
    raw = json.loads(line)
    kind = _KINDS.get(raw["type"])
    if kind is None:
        raise ValueError(f"message of unknown type {raw['type']!r}")
    return Job.of(raw["body"]) if kind is Job else _strict(kind, raw["body"])


class Worker:
    """The other end of the wire. When it closes its end, this process exits at once."""

    def __init__(self, commands: BinaryIO, answers: BinaryIO) -> None:
        self._commands = commands
        self._answers = answers
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            for line in self._commands:
                self._inbox.put(decode(line))
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        # NB: not sys.exit: the main thread may be deep inside a commit, which must not go on.
        os._exit(ORPHANED)

    def send(self, message: Message) -> None:
        self._answers.write(encode(message).encode() + b"\n")
        self._answers.flush()

    def expect(self, kind: type[M]) -> M:
        """Waits for the next command, which must be of that kind."""
        message = self._inbox.get()
        if not isinstance(message, kind):
            raise TypeError(f"expected {kind.__name__}, got {type(message).__name__}")
        return message
