"""Entry point: `python -I -B DIRECTORY MEMORY_BYTES` (0: no limit of its own)."""

import resource
import sys


def _limit_memory(limit: int) -> None:
    # Before lance is imported, so that its threads and buffers count too. RLIMIT_AS would count address
    # space that is only reserved and kills a small process; RLIMIT_DATA counts what can be written.
    if limit > 0:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    _limit_memory(int(sys.argv[1]))

    from sluice_engine.run import main

    main()
