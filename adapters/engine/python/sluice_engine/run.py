"""The life of an engine process: get ready, take one job, answer, exit."""

import os
import sys
import traceback

from . import PYLANCE
from .failure import Failure, code_of
from .wire import Done, Failed, Job, Ready, Worker


def main() -> None:
    """Gives the answer and exits, with status 0 whatever the answer says."""
    # Nothing that a library prints may get between the messages.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    status = 1
    try:
        worker = Worker(sys.stdin.buffer, answers)
        worker.send(_answer(worker))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    # NB: without Python's own ending, in which threads of Lance may hang or crash.
    os._exit(status)


def _answer(worker: Worker) -> Done | Failed:
    try:
        return _serve(worker)
    except Failure as e:
        return e.as_message()
    except BaseException as e:  # a panic of Rust code is no Exception
        traceback.print_exc()
        return Failure(code_of(e, None), f"{type(e).__name__}: {e}").as_message()


def _serve(worker: Worker) -> Done:
    try:
        import lance
    except ImportError as e:
        missing = f"Python at {sys.executable} can't import lance ({e}): run make .venv"
        raise Failure("E_ENGINE_MISSING", missing) from e
    if lance.__version__ != PYLANCE:
        wrong = f"pylance {lance.__version__} found, {PYLANCE} needed: run make .venv"
        raise Failure("E_ENGINE_MISSING", wrong)

    from .merge import run

    session = lance.Session()
    worker.send(Ready(lance.__version__, os.getpid()))
    return run(worker.expect(Job), worker, session)
