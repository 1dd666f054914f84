"""What went wrong, as a code. pylance raises untyped errors: their leading words are what there is."""

from typing import Literal

from .wire import Failed

Stage = Literal["base", "sstable", "commit"]

CONFLICT = "E_COMMIT_CONFLICT"
UNKNOWN = "E_ENGINE_UNKNOWN"
OUT_OF_MEMORY = "E_ENGINE_OOM"

# Layers that pylance puts before the words that matter.
_WRAPPERS = ("External error: ", "LanceError(IO): ", "Invalid user input: ", "Generic N/A error: ")

# The words as pylance 14.0.2 writes them, per stage. What is not here is E_ENGINE_UNKNOWN; a number in a
# message, a path or a request id decides nothing.
_LEADING_WORDS: tuple[tuple[Stage | None, str, str], ...] = (
    ("commit", "Retryable commit conflict for version", CONFLICT),
    ("commit", "Commit conflict for version", CONFLICT),
    ("commit", "Too many concurrent writers", CONFLICT),
    ("commit", "Incompatible transaction", CONFLICT),
    ("commit", "Stale SSTable compaction", "E_STALE"),
    ("commit", "Cannot record SSTable compaction progress", "E_NO_MEMWAL"),
    ("base", "Dataset at path", "E_TABLE_MISSING"),
    ("sstable", "Dataset at path", "E_SSTABLE_MISSING"),
    ("sstable", "Not found: ", "E_SSTABLE_MISSING"),
    ("sstable", "Object at location", "E_SSTABLE_MISSING"),
    ("sstable", "file size is too small", "E_SSTABLE_CORRUPT"),
    ("sstable", "Generic memory error: Invalid range", "E_SSTABLE_CORRUPT"),
    ("sstable", "file does not appear to be a Lance file", "E_SSTABLE_CORRUPT"),
    ("sstable", "Encountered corrupt file", "E_SSTABLE_CORRUPT"),
    (None, "Resources exhausted", OUT_OF_MEMORY),
    # A thread's stack counts against the memory limit.
    (None, "can't start new thread", OUT_OF_MEMORY),
    (None, "OS can't spawn worker thread", OUT_OF_MEMORY),
    (None, "failed to spawn thread", OUT_OF_MEMORY),
)


class Failure(Exception):
    """Ends the execution. The worker decides what follows from it."""

    def __init__(
        self, code: str, message: str, *, shard: str = "", generation: int = 0, other: str = ""
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.shard = shard
        self.generation = generation
        self.other = other

    def as_message(self) -> Failed:
        return Failed(self.code, self.message[:2000], self.shard, self.generation, self.other)


def code_of(error: BaseException, stage: Stage | None) -> str:
    """The code that an error of pylance stands for; without a stage only what may happen anywhere counts."""
    if isinstance(error, MemoryError):  # pyarrow's own out-of-memory error is one, too
        return OUT_OF_MEMORY
    words = str(error)
    while wrapper := next((w for w in _WRAPPERS if words.startswith(w)), ""):
        words = words.removeprefix(wrapper)
    for where, leading, code in _LEADING_WORDS:
        if where in (stage, None) and words.startswith(leading):
            return code
    return UNKNOWN
