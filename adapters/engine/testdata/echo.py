"""Reads messages of the engine's wire with its Python half and writes them back, one a line.

python echo.py DIRECTORY_OF_THE_PROGRAM
"""

import sys

sys.path.insert(0, sys.argv[1])

from sluice_engine import wire

for line in sys.stdin:
    try:
        print(wire.encode(wire.decode(line)))
    except ValueError as e:
        print(f"refused: {e}")
