"""The long-lived mode: requests on stdin, answers on stdout, matched by id.

Each request runs on a thread of its own: a commit that a test holds below the gate must not stop the
client that is asked to write beside it.
"""

import json
import os
import sys
import threading
from typing import TextIO

from stock.operations import answer


def serve(requests: TextIO, answers: TextIO) -> None:
    """Serves until the requests end, then exits at once: whoever would read an answer is gone."""
    turn = threading.Lock()

    def run(request: dict) -> None:
        line = json.dumps(answer(request))
        with turn:
            answers.write(line + "\n")
            answers.flush()

    for line in requests:
        threading.Thread(target=run, args=(json.loads(line),), daemon=True).start()
    sys.stderr.flush()
    os._exit(0)
