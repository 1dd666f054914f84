"""The life of an engine process: get ready, take one job, answer, exit."""

import os
import sys
import traceback

from . import PYLANCE
from .failure import OUT_OF_MEMORY, UNKNOWN, Failure
from .wire import Job, Ready, Worker


def main() -> None:
    """Gives the answer and exits, with status 0 whatever the answer says."""
    status = 1
    try:
        _serve()
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    # NB: without Python's own ending, in which threads of Lance may hang or crash.
    os._exit(status)


def _serve() -> None:
    # Nothing that a library prints may get between the messages.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    worker = Worker(sys.stdin.buffer, answers)
    try:
        import lance
    except ImportError as e:
        missing = f"Python at {sys.executable} can't import lance ({e}): run make .venv"
        worker.send(Failure("E_ENGINE_MISSING", missing).as_message())
        return
    if lance.__version__ != PYLANCE:
        wrong = f"pylance {lance.__version__} found, {PYLANCE} needed: run make .venv"
        worker.send(Failure("E_ENGINE_MISSING", wrong).as_message())
        return

    from .merge import run

    session = lance.Session()
    worker.send(Ready(lance.__version__, os.getpid()))
    try:
        worker.send(run(worker.expect(Job), worker, session))
    except Failure as e:
        worker.send(e.as_message())
    except MemoryError as e:
        worker.send(Failure(OUT_OF_MEMORY, str(e)).as_message())
    except BaseException as e:  # a panic of Rust code is no Exception
        traceback.print_exc()
        worker.send(Failure(UNKNOWN, f"{type(e).__name__}: {e}").as_message())
